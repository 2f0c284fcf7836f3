//! One command from start to end: streams are copied, the timeout is enforced from
//! outside, and the end is reported only when every process of the sandbox is dead.

use super::init_channel::{InitChannel, StartedCommand, watch};
use super::slot::{InitHandle, Slot};
use crate::backend::CommandJob;
use crate::capture::Capture;
use crate::egress::Proxy;
use crate::error::{Error, ErrorContext};
use crate::execution::{OutputChunk, OutputStream};
use crate::policy::SandboxLimits;
use prowess_launcher::spec::CommandSpec;
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

/// Size of one read from a stream.
const READ_BYTES: usize = 64 << 10;

/// Timeout of building a sandbox, and of reaping one that was killed. Only a stuck kernel
/// takes as long; the run then fails, and its slot is dropped.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

async fn with_timeout<F: Future>(timeout: Duration, work: F) -> Result<F::Output, Error> {
    tokio::time::timeout(timeout, work)
        .await
        .map_err(|_| Error::LauncherGone)
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, with this status of `wait`.
    Status(i32),
    /// Killed by the kernel, together with its init.
    Killed,
    /// Killed at its timeout.
    Timeout,
    /// Killed because of too much output.
    Flood,
}

/// The result when every process is dead.
#[derive(Debug)]
pub(super) struct FinishedRun {
    pub(super) ending: Ending,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) elapsed: Duration,
    /// The folder with the files written to `/mnt/data`.
    pub(super) written: OwnedFd,
    /// The namespace of the sandbox's mounts, to be released in the background.
    pub(super) mounts: OwnedFd,
}

/// A running sandbox. Dropping it kills all of its processes.
struct RunningInit {
    pidfd: AsyncFd<OwnedFd>,
    channel: InitChannel,
}

impl Drop for RunningInit {
    fn drop(&mut self) {
        kill(&self.pidfd);
    }
}

/// Kills pid 1 of a sandbox, and so all of its processes. Nothing inside can prevent it.
fn kill(pidfd: &AsyncFd<OwnedFd>) {
    // It fails only if it is dead already.
    let _ = pidfd_send_signal(pidfd.get_ref(), Signal::KILL);
}

/// Sends the command to an init and waits for its end. If this is dropped before the
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
    let (stdin, stdin_ours) = pipe_with(PipeFlags::CLOEXEC).context("cannot create a pipe")?;
    let (stdout_ours, stdout) = pipe_with(PipeFlags::CLOEXEC).context("cannot create a pipe")?;
    let (stderr_ours, stderr) = pipe_with(PipeFlags::CLOEXEC).context("cannot create a pipe")?;
    let stdio = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    channel.send_command(command, &stdio)?;
    drop((stdin, stdout, stderr));

    let started_command = with_timeout(REPLY_TIMEOUT, channel.wait_started()).await?;
    let pidfd = match init.pidfd {
        Some(pidfd) => Ok(pidfd),
        None => slot.receive_pidfd(),
    };
    let (started_command, pidfd) = both(started_command, pidfd)?;
    let StartedCommand {
        written,
        mounts,
        listener,
    } = started_command;
    let pidfd = watch(pidfd).context("cannot watch the sandbox's processes")?;
    let running = RunningInit { pidfd, channel };
    // Dropped at the end of this run, with all its connections.
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

/// What the init and its broker replied, or why there is no sandbox. If both failed, the
/// init's own reason is the cause: the broker then reports that it could not go on with an
/// init that had ended. An init that the broker gave up on has no reason to tell.
fn both<T, U>(init: Result<T, Error>, broker: Result<U, Error>) -> Result<(T, U), Error> {
    match (init, broker) {
        (Ok(init), Ok(broker)) => Ok((init, broker)),
        (Err(cause @ Error::Launch(_)), _) | (_, Err(cause)) | (Err(cause), _) => Err(cause),
    }
}

impl RunningInit {
    /// Waits until every process is dead, and returns the command's status if the init
    /// reported it.
    async fn wait_ended(&self) -> Result<Option<i32>, Error> {
        let status = self.channel.receive_status().await?;
        self.pidfd
            .readable()
            .await
            .context("cannot watch the sandbox's processes")?
            .retain_ready();
        Ok(status)
    }
}

/// Serves the proxy's socket in the background until the result is dropped.
fn serve(proxy: Arc<Proxy>, listener: OwnedFd) -> Result<JoinSet<()>, Error> {
    let listener = std::net::TcpListener::from(listener);
    let listener =
        tokio::net::TcpListener::from_std(listener).context("cannot listen for the proxy")?;
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
    let mut pipe =
        Receiver::from_owned_fd(pipe).context("cannot read the output of the command")?;
    let mut buffer = Vec::with_capacity(READ_BYTES);
    while pipe
        .read_buf(&mut buffer)
        .await
        .context("cannot read the output of the command")?
        > 0
    {
        let length = buffer.len() as u64;
        let before = counter.seen.fetch_add(length, Ordering::Relaxed);
        if before.saturating_add(length) > counter.max {
            counter.over.notify_one();
        }
        capture.push(&buffer);
        if let Some(listener) = listener
            && before < counter.max
        {
            // The listener may be gone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_launcher::{LaunchFailure, LaunchStep};

    fn failed<T>(step: LaunchStep) -> Result<T, Error> {
        let message = "a message".into();
        Err(Error::Launch(LaunchFailure {
            step,
            errno: None,
            message,
        }))
    }

    #[test]
    fn the_reason_of_an_init_comes_before_that_of_its_broker() {
        let (init, broker) = (LaunchStep::Limits, LaunchStep::Start);
        let cause = |init: Result<(), Error>, broker: Result<(), Error>| {
            both(init, broker).unwrap_err().to_string()
        };
        let [of_init, of_broker] = [init, broker].map(|step| cause(failed(step), Ok(())));
        assert_ne!(of_init, of_broker);
        assert_eq!(cause(failed(init), failed(broker)), of_init);
        assert_eq!(cause(Err(Error::LauncherGone), failed(broker)), of_broker);
        assert_eq!(cause(Ok(()), failed(broker)), of_broker);
    }
}
