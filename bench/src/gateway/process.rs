//! A program under measurement: started, waited for, read from `/proc`, and ended.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A running program and its children; ended when dropped.
#[derive(Debug)]
pub struct GatewayProcess {
    child: Child,
    address: SocketAddr,
    ready: Duration,
}

impl GatewayProcess {
    /// Starts a program and waits until it accepts connections.
    pub fn start(command: &mut Command, address: SocketAddr, patience: Duration) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let start = Instant::now();
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let mut process = GatewayProcess {
            child,
            address,
            ready: Duration::ZERO,
        };
        while TcpStream::connect(address).is_err() {
            if let Some(status) = process.child.try_wait()? {
                bail!("{command:?} ended ({status}) before it listened");
            }
            if start.elapsed() > patience {
                bail!("{command:?} does not listen on {address}");
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        process.ready = start.elapsed();
        Ok(process)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How long it took from its start until it accepted a connection.
    pub fn ready(&self) -> Duration {
        self.ready
    }

    /// The processor time that it and its children have used, in user space and in the
    /// kernel.
    pub fn cpu(&self) -> Result<Duration> {
        let mut nanos = 0;
        for pid in self.process_tree()? {
            // A child may end between being listed and being read.
            let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
                continue;
            };
            for thread in threads {
                nanos += thread_cpu(&thread?.path())?;
            }
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Bytes of memory it and its children hold.
    pub fn memory(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// Bytes of memory it holds itself, without its children.
    pub fn own_memory(&self) -> Result<u64> {
        memory_of(self.child.id(), "VmRSS:")
    }

    /// The most they ever held.
    pub fn peak_memory(&self) -> Result<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> Result<u64> {
        let all = self.process_tree()?.into_iter();
        all.map(|pid| memory_of(pid, field)).sum()
    }

    /// It and its children.
    fn process_tree(&self) -> Result<Vec<u32>> {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let mut family = vec![pid];
        for child in children.split_whitespace() {
            family.push(child.parse()?);
        }
        Ok(family)
    }
}

/// A field of a process's status that counts bytes.
fn memory_of(pid: u32, field: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes = kilobytes.with_context(|| format!("no {field} of {pid}"))?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

/// The scheduler's own count of a thread's time, in nanoseconds: the ticks of `stat`
/// are too coarse for a short run.
fn thread_cpu(thread: &Path) -> Result<u64> {
    // A thread may end between being listed and being read.
    let Ok(stat) = std::fs::read_to_string(thread.join("schedstat")) else {
        return Ok(0);
    };
    let nanos = stat.split_whitespace().next().unwrap_or_default();
    nanos
        .parse()
        .context("the kernel counts no time of threads")
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        // In good order, so that its children end with it; then by force.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of this machine that nobody listens on now.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
