//! One command in a Docker container: output, time and files are limited from outside, and
//! the whole Docker container is killed at the end.

use super::{ContainerKeepalive, DockerBackend, DockerContext, docker_name, hardening};
use crate::backend::{CommandJob, CommandResult, WrittenFiles, command_environment, has_layer};
use crate::beneath::PATH_ONLY;
use crate::capture::Capture;
use crate::collect::{self, DiskUsage};
use crate::error::{Error, ErrorContext};
use crate::execution::{CommandOutcome, LimitHit, OutputChunk, OutputStream};
use crate::policy::SandboxLimits;
use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::StreamExt;
use prowess_launcher::LAYOUT;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// How often written files are measured.
const MEASURE_INTERVAL: Duration = Duration::from_millis(250);

/// Signals a command can end by; shells and Docker report them as 128 plus the number.
const SIGNALS: std::ops::RangeInclusive<i64> = 1..=64;

const SIGKILL: i32 = 9;

/// Why a command is killed.
enum StopCause {
    Timeout,
    Flood,
    Full,
}

/// Kills a Docker container when dropped before its command has ended.
struct KillGuard<'a> {
    docker: &'a DockerBackend,
    container_id: &'a str,
    ended: bool,
}

impl Drop for KillGuard<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let (docker, container_id) = (self.docker.clone(), self.container_id.to_owned());
            tokio::spawn(async move { docker.remove_container(&container_id).await });
        }
    }
}

/// Runs a command and returns when all of its processes are dead.
pub(super) async fn run(
    docker: &DockerBackend,
    keepalive: ContainerKeepalive,
    argv: Vec<String>,
    work: &Path,
    job: CommandJob,
) -> Result<CommandResult, Error> {
    let started = Instant::now();
    let mut kill_guard = KillGuard {
        docker,
        container_id: &job.container_id,
        ended: false,
    };
    let container_name = docker_name(&job.container_id);
    let exec = options(docker, argv, &job);
    let exec = docker.client.create_exec(&container_name, exec).await;
    let exec = exec.docker_context("creating a command")?.id;
    let mut streams = OutputStreams::new(&job.limits);
    let timeout = job.execution.timeout.unwrap_or(job.limits.timeout);
    let stopped = tokio::select! {
        done = streams.stream_output(docker, &exec, &job) => done?,
        () = tokio::time::sleep(timeout.min(job.limits.timeout)) => Some(StopCause::Timeout),
        () = wait_until_full(work.to_owned(), max_usage(&job)) => Some(StopCause::Full),
    };
    let status = docker
        .client
        .inspect_exec(&exec)
        .await
        .docker_context("reading the exit status")?;
    let killed = docker.client.kill_container(&container_name, None).await;
    let state = docker.container_state(&job.container_id).await;
    if state.running == Some(true) {
        killed.docker_context("ending a container")?;
    }
    // Reported only for a container that has ended.
    let out_of_memory = state.oom_killed == Some(true);
    kill_guard.ended = true;
    drop(kill_guard);
    drop(keepalive);
    let written = WrittenFiles::Whole(open(work)?);
    let copy = work.to_owned();
    let (outcome, hits) = outcome(stopped, status.exit_code, out_of_memory);
    Ok(CommandResult {
        job,
        outcome,
        hits,
        stdout: streams.stdout.finish(),
        stderr: streams.stderr.finish(),
        elapsed: started.elapsed(),
        written,
        // The copy uses as much disk space as the container's files.
        release: Box::new(move || {
            // What cannot be removed is removed before the next command.
            let _ = collect::clear(&copy);
        }),
    })
}

fn options(
    docker: &DockerBackend,
    argv: Vec<String>,
    job: &CommandJob,
) -> CreateExecOptions<String> {
    let env = command_environment(&job.execution.env, false, has_layer(&job.mounts));
    let env = env.into_iter().map(|(key, value)| format!("{key}={value}"));
    CreateExecOptions {
        attach_stdin: Some(!job.execution.stdin.is_empty()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        env: Some(env.collect()),
        cmd: Some(argv),
        user: Some(hardening::container_user(docker, job)),
        working_dir: Some(LAYOUT.data.into()),
        ..CreateExecOptions::default()
    }
}

/// The output read so far.
struct OutputStreams {
    stdout: Capture,
    stderr: Capture,
    seen: u64,
    max: u64,
}

impl OutputStreams {
    fn new(limits: &SandboxLimits) -> Self {
        Self {
            stdout: Capture::new(limits.output_kept),
            stderr: Capture::new(limits.output_kept),
            seen: 0,
            max: limits.output_flood,
        }
    }

    /// Starts the command, feeds it, and reads until it ends or writes too much.
    async fn stream_output(
        &mut self,
        docker: &DockerBackend,
        exec: &str,
        job: &CommandJob,
    ) -> Result<Option<StopCause>, Error> {
        let options = StartExecOptions::default();
        let attached = docker.client.start_exec(exec, Some(options)).await;
        let StartExecResults::Attached {
            mut output,
            mut input,
        } = attached.docker_context("starting a command")?
        else {
            return Ok(None);
        };
        let feed = async {
            // A command need not read its input.
            let _ = input.write_all(&job.execution.stdin).await;
            let _ = input.shutdown().await;
        };
        let read = async {
            while let Some(chunk) = output.next().await {
                self.record_chunk(chunk.docker_context("reading output")?, job);
                if self.seen > self.max {
                    return Ok(Some(StopCause::Flood));
                }
            }
            Ok(None)
        };
        let (stopped, ()) = tokio::join!(read, feed);
        stopped
    }

    fn record_chunk(&mut self, chunk: LogOutput, job: &CommandJob) {
        let (stream, capture) = match &chunk {
            LogOutput::StdErr { .. } => (OutputStream::Stderr, &mut self.stderr),
            _ => (OutputStream::Stdout, &mut self.stdout),
        };
        let bytes = chunk.into_bytes();
        self.seen = self.seen.saturating_add(bytes.len() as u64);
        capture.push(&bytes);
        if let Some(listener) = &job.execution.stream {
            // The listener may be gone.
            let _ = listener.send(OutputChunk {
                stream,
                bytes: bytes.into(),
            });
        }
    }
}

/// The limits of the folder while a command runs.
fn max_usage(job: &CommandJob) -> DiskUsage {
    let limits = &job.limits;
    let made = job.usage.entries.saturating_add(limits.data_files);
    DiskUsage {
        bytes: limits.data_bytes,
        entries: limits.container_entries.min(made),
    }
}

/// Returns when the folder exceeds its limits or is nested too deep.
async fn wait_until_full(work: PathBuf, max: DiskUsage) {
    loop {
        tokio::time::sleep(MEASURE_INTERVAL).await;
        let folder = work.clone();
        let measured = tokio::task::spawn_blocking(move || collect::measure_written(&folder, max));
        // What cannot be measured now is measured next time.
        if let Ok(Ok(measured)) = measured.await
            && measured.exceeds_limit
        {
            return;
        }
    }
}

fn outcome(
    stopped: Option<StopCause>,
    code: Option<i64>,
    oom: bool,
) -> (CommandOutcome, Vec<LimitHit>) {
    let mut hits = Vec::new();
    if oom {
        hits.push(LimitHit::Memory);
    }
    let code = code.unwrap_or(128 + i64::from(SIGKILL));
    let outcome = match stopped {
        Some(StopCause::Timeout) => CommandOutcome::Timeout,
        Some(StopCause::Flood) => CommandOutcome::OutputFlood,
        Some(StopCause::Full) => {
            hits.push(LimitHit::Data);
            CommandOutcome::Signal(SIGKILL)
        }
        None if oom && code == 128 + i64::from(SIGKILL) => CommandOutcome::OutOfMemory,
        None if SIGNALS.contains(&(code - 128)) => {
            CommandOutcome::Signal(i32::try_from(code - 128).unwrap_or(SIGKILL))
        }
        None => CommandOutcome::Exit(i32::try_from(code).unwrap_or(i32::MAX)),
    };
    (outcome, hits)
}

fn open(work: &Path) -> Result<OwnedFd, Error> {
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, work, flags, Mode::empty())
        .at("cannot open the output of the command", work)
}
