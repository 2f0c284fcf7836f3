//! Health and metrics of a worker, over HTTP: three fixed paths, one request per connection, and
//! no more of the protocol than that needs.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prowess_bus::Bus;
use prowess_sandbox::Sandbox;
use prowess_worker::WorkerService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 16;
/// Longest head of a request.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// How long a connection may take.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a connection could not be accepted, because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A listening socket.
#[derive(Debug)]
pub(super) struct HealthServer {
    listener: TcpListener,
    address: SocketAddr,
}

/// What is shown.
#[derive(Debug)]
struct WorkerHealth {
    service: Arc<WorkerService>,
    sandbox: Sandbox,
    bus: Bus,
}

impl HealthServer {
    pub(super) async fn bind(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(self, service: Arc<WorkerService>, sandbox: Sandbox, bus: Bus) {
        let health = Arc::new(WorkerHealth {
            service,
            sandbox,
            bus,
        });
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let permit = Arc::clone(&permits).acquire_owned().await;
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let health = Arc::clone(&health);
                    tokio::spawn(async move {
                        // Who does not read the answer does not get it.
                        let _ = timeout(CONNECTION_TIMEOUT, answer(stream, &health)).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

async fn answer(mut stream: TcpStream, health: &WorkerHealth) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (status, kind, body) = health.respond(line);
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\
         \r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

impl WorkerHealth {
    /// Status, type and body of the answer to a request line.
    fn respond(&self, line: &[u8]) -> (&'static str, &'static str, String) {
        let text = "text/plain; charset=utf-8";
        match line.split(|byte| *byte == b' ').nth(1) {
            Some(b"/healthz") => ("200 OK", text, "ok\n".to_owned()),
            Some(b"/readyz") => {
                let (draining, connected) = (self.service.beat().draining, self.bus.is_connected());
                let status = if connected && !draining {
                    "200 OK"
                } else {
                    "503 Service Unavailable"
                };
                let body = serde_json::json!({ "nats": connected, "draining": draining });
                (status, "application/json", format!("{body}\n"))
            }
            Some(b"/metrics") => ("200 OK", "text/plain; version=0.0.4", self.metrics()),
            _ => ("404 Not Found", text, "not found\n".to_owned()),
        }
    }

    fn metrics(&self) -> String {
        let beat = self.service.beat();
        let statistics = self.sandbox.statistics();
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: u64| {
            // Writing to a text does not fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        };
        gauge(
            "prowess_worker_slots",
            "Commands that can run at once.",
            beat.slots as u64,
        );
        gauge(
            "prowess_worker_running",
            "Commands that run.",
            beat.running as u64,
        );
        gauge(
            "prowess_worker_waiting",
            "Commands that wait.",
            beat.waiting as u64,
        );
        let draining = u64::from(beat.draining);
        gauge(
            "prowess_worker_draining",
            "Whether it accepts no commands.",
            draining,
        );
        let connected = u64::from(self.bus.is_connected());
        gauge(
            "prowess_worker_nats_connected",
            "Whether NATS is connected.",
            connected,
        );
        let free = beat.free_disk_bytes;
        gauge("prowess_worker_free_disk_bytes", "Free disk space.", free);
        let name = "prowess_worker_commands_total";
        text += &format!("# HELP {name} Commands by how they ended.\n# TYPE {name} counter\n");
        for (outcome, count) in statistics.commands {
            text += &format!("{name}{{outcome=\"{outcome}\"}} {count}\n");
        }
        text
    }
}
