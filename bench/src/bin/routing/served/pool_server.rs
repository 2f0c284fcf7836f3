//! A server with the skills of a pool: uploads over several connections, and searches.

use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::NamedBinary;
use prowess_bench::gateway::request::{BenchEndpoint, BenchRequest, BenchResponse};
use prowess_bench::server::{BenchServer, ServerSetup};
use serde_json::Value;
use tokio::task::JoinSet;

use super::database::RoutingDatabase;
use super::skill_file::{SkillFile, SkillFiles};

const TENANT: &str = "routing";
/// Uploads at the same time.
const CONNECTIONS: usize = 6;
const TIMEOUT: Duration = Duration::from_secs(120);
/// Skills whose texts are in memory at once.
const PART_SKILLS: usize = 2_000;
/// How often an upload is repeated that the server refuses for now.
const MAX_REPEATS: usize = 50;
const REPEAT_PAUSE: Duration = Duration::from_millis(20);
/// The server has finished its background work when it needs less CPU time than this in an
/// interval.
const IDLE_CPU: Duration = Duration::from_millis(60);
/// The server merges its index two seconds after its last new block.
const SETTLE_INTERVAL: Duration = Duration::from_secs(3);
const SETTLE_LIMIT: Duration = Duration::from_secs(300);

/// A running server, and which skill of the pool each stored skill is.
pub(super) struct PoolServer {
    server: BenchServer,
    pub(super) endpoint: BenchEndpoint,
    pub(super) key: String,
    data_dir: PathBuf,
    uploaded: usize,
    text_bytes: u64,
    /// Numbers by the ids of stored skills.
    numbers: HashMap<String, u32>,
}

/// What uploading took.
pub(super) struct UploadTotals {
    pub(super) count: usize,
    pub(super) time: Duration,
    repeated: usize,
}

impl fmt::Display for UploadTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        write!(
            f,
            "{} uploaded in {seconds:.1} s ({:.0} a second; {} repeated)",
            self.count,
            self.count as f64 / seconds.max(f64::MIN_POSITIVE),
            self.repeated
        )
    }
}

impl PoolServer {
    /// Starts a server of a binary, with an empty database of this number.
    pub(super) async fn start(
        binary: &NamedBinary,
        database: &RoutingDatabase,
        number: usize,
        model: SocketAddr,
    ) -> Result<PoolServer> {
        let mut setup = ServerSetup::new()?;
        setup.binary = Some(binary.path.clone());
        setup.config = format!(
            "[sandbox]\nreduced = true\nwarm = 0\n{}",
            database.config(number)?
        );
        let data_dir = setup.data_dir();
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        Ok(PoolServer {
            endpoint: server.endpoint(Ipv4Addr::LOCALHOST),
            key: server.create_key(TENANT)?,
            server,
            data_dir,
            uploaded: 0,
            text_bytes: 0,
            numbers: HashMap::new(),
        })
    }

    /// Uploads skills until there are so many.
    pub(super) async fn upload_up_to(
        &mut self,
        files: &SkillFiles<'_>,
        size: usize,
    ) -> Result<UploadTotals> {
        let first = self.uploaded;
        let mut totals = UploadTotals {
            count: size.saturating_sub(first),
            time: Duration::ZERO,
            repeated: 0,
        };
        while self.uploaded < size {
            let end = size.min(self.uploaded + PART_SKILLS);
            let part = (self.uploaded..end).map(|number| files.file(number));
            let part: Option<Vec<SkillFile>> = part.collect();
            let part = part.context("the pool is empty")?;
            let start = Instant::now();
            totals.repeated += self.upload_part(part).await?;
            totals.time += start.elapsed();
        }
        Ok(totals)
    }

    /// Uploads some skills at once; returns how many uploads were repeated.
    async fn upload_part(&mut self, part: Vec<SkillFile>) -> Result<usize> {
        let bytes: usize = part.iter().map(|file| file.text_bytes).sum();
        let (first, count) = (self.uploaded, part.len());
        let (part, next) = (
            std::sync::Arc::new(part),
            std::sync::Arc::new(AtomicUsize::new(0)),
        );
        let mut running = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (part, next) = (part.clone(), next.clone());
            let (endpoint, key) = (self.endpoint, self.key.clone());
            running.spawn(async move {
                let (mut made, mut repeated) = (Vec::new(), 0);
                let take = || next.fetch_add(1, Ordering::Relaxed);
                let mut at = take();
                while let Some(file) = part.get(at) {
                    let (id, repeats) = upload(&endpoint, &key, file).await?;
                    made.push((id, u32::try_from(first + at)?));
                    repeated += repeats;
                    at = take();
                }
                anyhow::Ok((made, repeated))
            });
        }
        let mut repeated = 0;
        while let Some(done) = running.join_next().await {
            let (made, repeats) = done??;
            self.numbers.extend(made);
            repeated += repeats;
        }
        self.uploaded += count;
        self.text_bytes += bytes as u64;
        Ok(repeated)
    }

    /// Waits until the server does nothing any more; returns how long that took.
    pub(super) async fn settle(&self) -> Result<Duration> {
        let start = Instant::now();
        let mut before = self.server.cpu()?;
        loop {
            tokio::time::sleep(SETTLE_INTERVAL).await;
            let now = self.server.cpu()?;
            if now.saturating_sub(before) < IDLE_CPU {
                return Ok(start.elapsed());
            }
            ensure!(
                start.elapsed() < SETTLE_LIMIT,
                "the server is still busy after {} s",
                SETTLE_LIMIT.as_secs()
            );
            before = now;
        }
    }

    /// Sends a request that must succeed.
    pub(super) async fn send(&self, request: &BenchRequest) -> Result<BenchResponse> {
        let answer = request.send(&self.endpoint, TIMEOUT).await?;
        ensure!(
            answer.status == 200,
            "unexpected status {}: {}",
            answer.status,
            answer.body
        );
        Ok(answer)
    }

    /// The number of a stored skill.
    pub(super) fn number(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    pub(super) fn size(&self) -> usize {
        self.uploaded
    }

    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    pub(super) fn memory(&self) -> Result<u64> {
        self.server.memory().context("the server has no memory")
    }

    pub(super) fn sqlite_file(&self) -> PathBuf {
        self.data_dir.join("prowess.db")
    }
}

/// Uploads a skill; returns its id, and how often it was repeated.
async fn upload(endpoint: &BenchEndpoint, key: &str, file: &SkillFile) -> Result<(String, usize)> {
    let name = format!("{}/SKILL.md", file.folder);
    let content = file.text.as_bytes();
    let request = BenchRequest::form("/v1/skills", key, "files[]", &name, content);
    for repeats in 0..MAX_REPEATS {
        let answer = request.send(endpoint, TIMEOUT).await?;
        if matches!(answer.status, 429 | 503) {
            tokio::time::sleep(REPEAT_PAUSE).await;
            continue;
        }
        let made = answer.json().unwrap_or_default();
        let id = made.get("id").and_then(Value::as_str);
        let id = id.filter(|_| answer.status == 200);
        let id = id.with_context(|| format!("{name}: {} {}", answer.status, answer.body))?;
        return Ok((id.to_owned(), repeats));
    }
    anyhow::bail!("{name}: the server was busy {MAX_REPEATS} times")
}
