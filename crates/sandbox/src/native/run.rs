//! One command from start to end: streams pumped, time watched from outside, and the
//! end told only when every process of the sandbox is dead.

use super::slot::{Init, Slot};
use crate::backend::Job;
use crate::capture::Capture;
use crate::egress::Proxy;
use crate::error::{During, Error};
use crate::execution::{Chunk, Stream};
use crate::policy::Limits;
use prowess_launcher::channel;
use prowess_launcher::spec::{Go, InitReply};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

/// Size of one read from a stream.
const PIECE: usize = 64 << 10;

/// How long our own part may take: building a sandbox, and burying one that was killed.
/// Only a kernel that is stuck takes as long; the run then fails, and its slot goes.
const PATIENCE: Duration = Duration::from_secs(30);

async fn within<F: Future>(patience: Duration, work: F) -> Result<F::Output, Error> {
    tokio::time::timeout(patience, work)
        .await
        .map_err(|_| Error::LauncherGone)
}

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The command itself, with this status of `wait`.
    Status(i32),
    /// All at once, by a signal from the kernel: the init died with it.
    Killed,
    /// We, because its time was up.
    Timeout,
    /// We, because it wrote too much.
    Flood,
}

/// What is left when every process is dead.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) elapsed: Duration,
    /// The folder with what was written to `/mnt/data`.
    pub(super) written: OwnedFd,
    /// The namespace that holds the sandbox's mounts, to be let go of in passing.
    pub(super) mounts: OwnedFd,
}

/// A sandbox with something in it. Dropped before its end, it kills.
struct Running {
    pidfd: AsyncFd<OwnedFd>,
    channel: Channel,
}

/// The way to an init.
struct Channel(AsyncFd<OwnedFd>);

impl Drop for Running {
    fn drop(&mut self) {
        kill(&self.pidfd);
    }
}

/// Kills pid 1, and so all, of a sandbox. Nothing inside can hold this up.
fn kill(pidfd: &AsyncFd<OwnedFd>) {
    // It fails only if it is dead already.
    let _ = pidfd_send_signal(pidfd.get_ref(), Signal::KILL);
}

/// Sends the command to an init and sees it through. Should this be dropped before the
/// command has started, the slot must be dropped too, which ends the init.
pub(super) async fn run(slot: &Slot, init: Init, go: &Go, job: &Job) -> Result<Finished, Error> {
    let started = Instant::now();
    let (execution, limits, proxy) = (&job.execution, &job.limits, job.proxy.as_ref());
    let channel = Channel::watch(init.channel)?;
    let (stdin, stdin_ours) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let (stdout_ours, stdout) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let (stderr_ours, stderr) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    channel::send(channel.0.get_ref(), go, &stdio).map_err(|_| Error::LauncherGone)?;
    drop((stdin, stdout, stderr));

    let heard = within(PATIENCE, channel.started()).await?;
    let pidfd = match init.pidfd {
        Some(pidfd) => pidfd,
        None => slot.answer()?,
    };
    let (written, mounts, listener) = heard?;
    let pidfd = watch(pidfd).during("a pidfd")?;
    let running = Running { pidfd, channel };
    // Dropped with this run, and all its connections with it.
    let _serving = match (proxy, listener) {
        (Some(proxy), Some(listener)) => Some(serve(Arc::clone(proxy), listener)?),
        _ => None,
    };
    let flood = Flood {
        seen: AtomicU64::new(0),
        most: limits.output_flood,
        over: Notify::new(),
    };
    let stream = execution.stream.as_ref();
    let everything = async {
        tokio::join!(
            running.ended(),
            read(stdout_ours, Stream::Stdout, stream, limits, &flood),
            read(stderr_ours, Stream::Stderr, stream, limits, &flood),
            feed(stdin_ours, &execution.stdin),
        )
    };
    tokio::pin!(everything);
    let timeout = execution
        .timeout
        .map_or(limits.timeout, |asked| asked.min(limits.timeout));
    let stopped = tokio::select! {
        done = &mut everything => Err(done),
        () = tokio::time::sleep(timeout) => Ok(Ending::Timeout),
        () = flood.over.notified() => Ok(Ending::Flood),
    };
    let (cause, (status, stdout, stderr, ())) = match stopped {
        Err(done) => (None, done),
        Ok(cause) => {
            kill(&running.pidfd);
            (Some(cause), within(PATIENCE, everything).await?)
        }
    };
    let ending = cause
        .or(status?.map(Ending::Status))
        .unwrap_or(Ending::Killed);
    Ok(Finished {
        ending,
        stdout: stdout?,
        stderr: stderr?,
        elapsed: started.elapsed(),
        written,
        mounts,
    })
}

impl Channel {
    fn watch(channel: OwnedFd) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&channel, true).during("the sandbox's socket")?;
        watch(channel).map(Self).during("the sandbox's socket")
    }

    /// Waits until the command runs.
    async fn started(&self) -> Result<(OwnedFd, OwnedFd, Option<OwnedFd>), Error> {
        match self.hear().await? {
            Some((InitReply::Started { .. }, fds)) => {
                let mut fds = fds.into_iter();
                let written = fds.next().ok_or(Error::LauncherGone)?;
                let mounts = fds.next().ok_or(Error::LauncherGone)?;
                Ok((written, mounts, fds.next()))
            }
            Some((InitReply::Failed(failure), _)) => Err(failure.into()),
            Some((InitReply::Ended { .. }, _)) | None => Err(Error::LauncherGone),
        }
    }

    async fn hear(&self) -> Result<Option<(InitReply, Vec<OwnedFd>)>, Error> {
        let heard = self
            .0
            .async_io(Interest::READABLE, |socket| channel::receive(socket));
        match heard.await {
            // An init that was killed leaves no goodbye.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            other => other.during("the sandbox's socket"),
        }
    }
}

impl Running {
    /// Waits until every process is dead, and returns the command's status if the init
    /// lived to tell it.
    async fn ended(&self) -> Result<Option<i32>, Error> {
        let status = match self.channel.hear().await? {
            Some((InitReply::Ended { status }, _)) => Some(status),
            Some((InitReply::Failed(failure), _)) => return Err(failure.into()),
            Some((InitReply::Started { .. }, _)) | None => None,
        };
        self.pidfd
            .readable()
            .await
            .during("a pidfd")?
            .retain_ready();
        Ok(status)
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe for types whose descriptor may change; an OwnedFd's does not"
)]
fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// Serves the proxy's socket in the background until the result is dropped.
fn serve(proxy: Arc<Proxy>, listener: OwnedFd) -> Result<JoinSet<()>, Error> {
    let listener = std::net::TcpListener::from(listener);
    let listener = tokio::net::TcpListener::from_std(listener).during("the proxy's socket")?;
    let mut serving = JoinSet::new();
    serving.spawn(proxy.serve(listener));
    Ok(serving)
}

/// Counts the output of both streams.
struct Flood {
    seen: AtomicU64,
    most: u64,
    over: Notify,
}

async fn read(
    pipe: OwnedFd,
    stream: Stream,
    listener: Option<&UnboundedSender<Chunk>>,
    limits: &Limits,
    flood: &Flood,
) -> Result<Capture, Error> {
    let mut capture = Capture::new(limits.output_kept);
    let mut pipe = Receiver::from_owned_fd(pipe).during("a pipe")?;
    let mut piece = Vec::with_capacity(PIECE);
    while pipe.read_buf(&mut piece).await.during("a pipe")? > 0 {
        let length = piece.len() as u64;
        let before = flood.seen.fetch_add(length, Ordering::Relaxed);
        if before.saturating_add(length) > flood.most {
            flood.over.notify_one();
        }
        capture.push(&piece);
        if let Some(listener) = listener
            && before < flood.most
        {
            // A listener that has left misses nothing.
            let _ = listener.send(Chunk {
                stream,
                bytes: piece.clone(),
            });
        }
        piece.clear();
    }
    Ok(capture)
}

/// Writes standard input and closes it. A command need not read it.
async fn feed(pipe: OwnedFd, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    if let Ok(mut pipe) = Sender::from_owned_fd(pipe) {
        let _ = pipe.write_all(bytes).await;
    }
}
