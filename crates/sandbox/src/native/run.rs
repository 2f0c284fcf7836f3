//! One command from start to end: streams pumped, time watched from outside, and the
//! end told only when every process of the sandbox is dead.

use super::slot::{InitHandle, Slot};
use crate::backend::CommandJob;
use crate::capture::Capture;
use crate::egress::Proxy;
use crate::error::{Error, ErrorContext};
use crate::execution::{OutputChunk, OutputStream};
use crate::policy::SandboxLimits;
use prowess_launcher::channel;
use prowess_launcher::spec::{CommandSpec, InitReply};
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
const READ_BYTES: usize = 64 << 10;

/// How long our own part may take: building a sandbox, and burying one that was killed.
/// Only a kernel that is stuck takes as long; the run then fails, and its slot goes.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

async fn with_timeout<F: Future>(timeout: Duration, work: F) -> Result<F::Output, Error> {
    tokio::time::timeout(timeout, work)
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
pub(super) struct FinishedRun {
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
struct RunningInit {
    pidfd: AsyncFd<OwnedFd>,
    channel: InitChannel,
}

/// The way to an init.
struct InitChannel(AsyncFd<OwnedFd>);

impl Drop for RunningInit {
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
pub(super) async fn run(
    slot: &Slot,
    init: InitHandle,
    command: &CommandSpec,
    job: &CommandJob,
) -> Result<FinishedRun, Error> {
    let started = Instant::now();
    let (execution, limits, proxy) = (&job.execution, &job.limits, job.proxy.as_ref());
    let channel = InitChannel::watch(init.channel)?;
    let (stdin, stdin_ours) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let (stdout_ours, stdout) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let (stderr_ours, stderr) = pipe_with(PipeFlags::CLOEXEC).during("a pipe")?;
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    channel::send(channel.0.get_ref(), command, &stdio).map_err(|_| Error::LauncherGone)?;
    drop((stdin, stdout, stderr));

    let start_reply = with_timeout(REPLY_TIMEOUT, channel.wait_started()).await?;
    let pidfd = match init.pidfd {
        Some(pidfd) => pidfd,
        None => slot.receive_pidfd()?,
    };
    let (written, mounts, listener) = start_reply?;
    let pidfd = watch(pidfd).during("a pidfd")?;
    let running = RunningInit { pidfd, channel };
    // Dropped with this run, and all its connections with it.
    let _serving = match (proxy, listener) {
        (Some(proxy), Some(listener)) => Some(serve(Arc::clone(proxy), listener)?),
        _ => None,
    };
    let counter = OutputCounter {
        seen: AtomicU64::new(0),
        max: limits.output_flood,
        over: Notify::new(),
    };
    let stream = execution.stream.as_ref();
    let everything = async {
        tokio::join!(
            running.wait_ended(),
            read(stdout_ours, OutputStream::Stdout, stream, limits, &counter),
            read(stderr_ours, OutputStream::Stderr, stream, limits, &counter),
            feed(stdin_ours, &execution.stdin),
        )
    };
    tokio::pin!(everything);
    let timeout = execution
        .timeout
        .map_or(limits.timeout, |requested| requested.min(limits.timeout));
    let stopped = tokio::select! {
        done = &mut everything => Err(done),
        () = tokio::time::sleep(timeout) => Ok(Ending::Timeout),
        () = counter.over.notified() => Ok(Ending::Flood),
    };
    let (cause, (status, stdout, stderr, ())) = match stopped {
        Err(done) => (None, done),
        Ok(cause) => {
            kill(&running.pidfd);
            (Some(cause), with_timeout(REPLY_TIMEOUT, everything).await?)
        }
    };
    let ending = cause
        .or(status?.map(Ending::Status))
        .unwrap_or(Ending::Killed);
    Ok(FinishedRun {
        ending,
        stdout: stdout?,
        stderr: stderr?,
        elapsed: started.elapsed(),
        written,
        mounts,
    })
}

impl InitChannel {
    fn watch(channel: OwnedFd) -> Result<Self, Error> {
        rustix::io::ioctl_fionbio(&channel, true).during("the sandbox's socket")?;
        watch(channel).map(Self).during("the sandbox's socket")
    }

    /// Waits until the command runs.
    async fn wait_started(&self) -> Result<(OwnedFd, OwnedFd, Option<OwnedFd>), Error> {
        match self.receive().await? {
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

    async fn receive(&self) -> Result<Option<(InitReply, Vec<OwnedFd>)>, Error> {
        let received = self
            .0
            .async_io(Interest::READABLE, |socket| channel::receive(socket));
        match received.await {
            // An init that was killed leaves no goodbye.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            other => other.during("the sandbox's socket"),
        }
    }
}

impl RunningInit {
    /// Waits until every process is dead, and returns the command's status if the init
    /// lived to tell it.
    async fn wait_ended(&self) -> Result<Option<i32>, Error> {
        let status = match self.channel.receive().await? {
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
struct OutputCounter {
    seen: AtomicU64,
    max: u64,
    over: Notify,
}

async fn read(
    pipe: OwnedFd,
    stream: OutputStream,
    listener: Option<&UnboundedSender<OutputChunk>>,
    limits: &SandboxLimits,
    counter: &OutputCounter,
) -> Result<Capture, Error> {
    let mut capture = Capture::new(limits.output_kept);
    let mut pipe = Receiver::from_owned_fd(pipe).during("a pipe")?;
    let mut buffer = Vec::with_capacity(READ_BYTES);
    while pipe.read_buf(&mut buffer).await.during("a pipe")? > 0 {
        let length = buffer.len() as u64;
        let before = counter.seen.fetch_add(length, Ordering::Relaxed);
        if before.saturating_add(length) > counter.max {
            counter.over.notify_one();
        }
        capture.push(&buffer);
        if let Some(listener) = listener
            && before < counter.max
        {
            // A listener that has left misses nothing.
            let _ = listener.send(OutputChunk {
                stream,
                bytes: buffer.clone(),
            });
        }
        buffer.clear();
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
