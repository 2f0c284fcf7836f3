//! One command in a container: streams, time and files watched from outside, and at the
//! end the whole container killed.

use super::{Asked, Docker, Leash, container, name};
use crate::backend::{Ended, Job, Written, environment, has_layer};
use crate::capture::Capture;
use crate::collect::{self, Usage};
use crate::error::{During, Error};
use crate::execution::{Chunk, LimitHit, Outcome, Stream};
use crate::policy::Limits;
use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::StreamExt;
use prowess_launcher::spec::DATA_DIR;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;

/// How often written files are measured.
const MEASURE_EVERY: Duration = Duration::from_millis(250);

/// Signals a command can end by; a shell tells them as 128 and the number, and so does
/// Docker.
const SIGNALS: std::ops::RangeInclusive<i64> = 1..=64;

const SIGKILL: i32 = 9;

/// Why we end a command.
enum Stop {
    Timeout,
    Flood,
    Full,
}

/// Kills a container when dropped before its command has ended.
struct Running<'a> {
    docker: &'a Docker,
    session: &'a str,
    ended: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let (docker, session) = (self.docker.clone(), self.session.to_owned());
            tokio::spawn(async move { docker.remove(&session).await });
        }
    }
}

/// Runs a command and returns when nothing of it is alive.
pub(super) async fn run(
    docker: &Docker,
    leash: Leash,
    argv: Vec<String>,
    work: &Path,
    job: Job,
) -> Result<Ended, Error> {
    let started = Instant::now();
    let mut running = Running {
        docker,
        session: &job.session,
        ended: false,
    };
    let container = name(&job.session);
    let exec = options(docker, argv, &job);
    let exec = docker.client.create_exec(&container, exec).await;
    let exec = exec.asked("making a command")?.id;
    let mut streams = Streams::new(&job.limits);
    let timeout = job.execution.timeout.unwrap_or(job.limits.timeout);
    let stopped = tokio::select! {
        done = streams.follow(docker, &exec, &job) => done?,
        () = tokio::time::sleep(timeout.min(job.limits.timeout)) => Some(Stop::Timeout),
        () = until_full(work.to_owned(), most(&job)) => Some(Stop::Full),
    };
    let status = docker
        .client
        .inspect_exec(&exec)
        .await
        .asked("the command's end")?;
    let killed = docker.client.kill_container(&container, None).await;
    let state = docker.state_of(&job.session).await;
    if state.running == Some(true) {
        killed.asked("ending a container")?;
    }
    // Told only of a container that has ended.
    let out_of_memory = state.oom_killed == Some(true);
    running.ended = true;
    drop(running);
    drop(leash);
    let written = Written::Whole(open(work)?);
    let copy = work.to_owned();
    let (outcome, hits) = outcome(stopped, status.exit_code, out_of_memory);
    Ok(Ended {
        job,
        outcome,
        hits,
        stdout: streams.stdout.finish(),
        stderr: streams.stderr.finish(),
        elapsed: started.elapsed(),
        written,
        // It would take as much of the disk as the session itself.
        release: Box::new(move || {
            // What stays behind goes before the next command.
            let _ = collect::clear(&copy);
        }),
    })
}

fn options(docker: &Docker, argv: Vec<String>, job: &Job) -> CreateExecOptions<String> {
    let env = environment(&job.execution.env, false, has_layer(&job.mounts));
    let env = env.into_iter().map(|(key, value)| format!("{key}={value}"));
    CreateExecOptions {
        attach_stdin: Some(!job.execution.stdin.is_empty()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        env: Some(env.collect()),
        cmd: Some(argv),
        user: Some(container::user(docker, job)),
        working_dir: Some(DATA_DIR.into()),
        ..CreateExecOptions::default()
    }
}

/// What has been read so far.
struct Streams {
    stdout: Capture,
    stderr: Capture,
    seen: u64,
    most: u64,
}

impl Streams {
    fn new(limits: &Limits) -> Self {
        Self {
            stdout: Capture::new(limits.output_kept),
            stderr: Capture::new(limits.output_kept),
            seen: 0,
            most: limits.output_flood,
        }
    }

    /// Starts the command, feeds it, and reads until it ends or writes too much.
    async fn follow(
        &mut self,
        docker: &Docker,
        exec: &str,
        job: &Job,
    ) -> Result<Option<Stop>, Error> {
        let options = StartExecOptions::default();
        let attached = docker.client.start_exec(exec, Some(options)).await;
        let StartExecResults::Attached {
            mut output,
            mut input,
        } = attached.asked("starting a command")?
        else {
            return Ok(None);
        };
        let feed = async {
            // A command need not read what it is given.
            let _ = input.write_all(&job.execution.stdin).await;
            let _ = input.shutdown().await;
        };
        let read = async {
            while let Some(piece) = output.next().await {
                self.take(piece.asked("reading output")?, job);
                if self.seen > self.most {
                    return Ok(Some(Stop::Flood));
                }
            }
            Ok(None)
        };
        let (stopped, ()) = tokio::join!(read, feed);
        stopped
    }

    fn take(&mut self, piece: LogOutput, job: &Job) {
        let (stream, capture) = match &piece {
            LogOutput::StdErr { .. } => (Stream::Stderr, &mut self.stderr),
            _ => (Stream::Stdout, &mut self.stdout),
        };
        let bytes = piece.into_bytes();
        self.seen = self.seen.saturating_add(bytes.len() as u64);
        capture.push(&bytes);
        if let Some(listener) = &job.execution.stream {
            // A listener that has left misses nothing.
            let _ = listener.send(Chunk {
                stream,
                bytes: bytes.into(),
            });
        }
    }
}

/// What the folder may hold while a command runs.
fn most(job: &Job) -> Usage {
    let limits = &job.limits;
    let made = job.usage.entries.saturating_add(limits.data_files);
    Usage {
        bytes: limits.data_bytes,
        entries: limits.session_entries.min(made),
    }
}

/// Returns when the folder holds more than it may, or is deeper than can be measured.
async fn until_full(work: PathBuf, most: Usage) {
    loop {
        tokio::time::sleep(MEASURE_EVERY).await;
        let folder = work.clone();
        let measured =
            tokio::task::spawn_blocking(move || collect::measure(&folder, most, &mut |_, _| {}));
        // What cannot be measured just now is measured next time.
        if let Ok(Ok(measured)) = measured.await
            && measured.is_more
        {
            return;
        }
    }
}

fn outcome(stopped: Option<Stop>, code: Option<i64>, oom: bool) -> (Outcome, Vec<LimitHit>) {
    let mut hits = Vec::new();
    if oom {
        hits.push(LimitHit::Memory);
    }
    let code = code.unwrap_or(128 + i64::from(SIGKILL));
    let outcome = match stopped {
        Some(Stop::Timeout) => Outcome::Timeout,
        Some(Stop::Flood) => Outcome::OutputFlood,
        Some(Stop::Full) => {
            hits.push(LimitHit::Data);
            Outcome::Signal(SIGKILL)
        }
        None if oom && code == 128 + i64::from(SIGKILL) => Outcome::OutOfMemory,
        None if SIGNALS.contains(&(code - 128)) => {
            Outcome::Signal(i32::try_from(code - 128).unwrap_or(SIGKILL))
        }
        None => Outcome::Exit(i32::try_from(code).unwrap_or(i32::MAX)),
    };
    (outcome, hits)
}

fn open(work: &Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, work, flags, Mode::empty())
        .at("what was written could not be opened", work)
}
