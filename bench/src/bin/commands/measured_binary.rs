//! A server of one binary with its skills and a container, and one operation on it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::NamedBinary;
use prowess_bench::gateway::request::{BenchEndpoint, BenchRequest};
use prowess_bench::server::{BenchServer, ServerSetup};
use serde_json::Value;
use tempfile::TempDir;

use super::operation::{Operation, script};

const TENANT: &str = "commands";
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running server.
pub(crate) struct MeasuredBinary {
    pub(crate) name: String,
    path: PathBuf,
    server: BenchServer,
    endpoint: BenchEndpoint,
    key: String,
    skills: Vec<String>,
    container: String,
    /// For the command line.
    folder: TempDir,
}

/// What an operation took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationTime {
    pub(crate) wall: Duration,
    /// CPU time of the server; of the command line, none is known.
    pub(crate) cpu: Option<Duration>,
}

impl MeasuredBinary {
    /// Starts a server, uploads the skills, and creates the container.
    pub(crate) async fn start(
        binary: &NamedBinary,
        skills: &[(String, Vec<u8>)],
        model: SocketAddr,
    ) -> Result<MeasuredBinary> {
        let first = skills.first().context("no skills")?;
        let mut setup = ServerSetup::new()?;
        setup.binary = Some(binary.path.clone());
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        setup.script = Some(script(&first.0));
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        let mut measured = MeasuredBinary {
            name: binary.name.clone(),
            path: binary.path.clone(),
            endpoint: server.endpoint(Ipv4Addr::LOCALHOST),
            key: server.create_key(TENANT)?,
            server,
            skills: Vec::new(),
            container: String::new(),
            folder: tempfile::tempdir()?,
        };
        for (_, archive) in skills {
            let id = measured.upload(archive).await?;
            measured.skills.push(id);
        }
        let created = measured.run(Operation::NewContainer).await?;
        measured.container = text(&created, "/container/id")?;
        Ok(measured)
    }

    /// Does it once.
    pub(crate) async fn measure(&self, operation: Operation) -> Result<OperationTime> {
        let (start, before) = (Instant::now(), self.server.cpu()?);
        if operation == Operation::CommandLine {
            self.exec()?;
            let wall = start.elapsed();
            return Ok(OperationTime { wall, cpu: None });
        }
        let done = self.run(operation).await?;
        let wall = start.elapsed();
        let cpu = self.server.cpu()?.saturating_sub(before);
        if operation == Operation::NewContainer {
            self.delete(&text(&done, "/container/id")?).await?;
        }
        Ok(OperationTime {
            wall,
            cpu: Some(cpu),
        })
    }

    async fn run(&self, operation: Operation) -> Result<Value> {
        let body = operation.body(&self.skills, &self.container);
        let request = BenchRequest::json("/v1/messages", &self.key, &body);
        let response = request.send(&self.endpoint, TIMEOUT).await?;
        let (name, shown) = (operation.name(), &response.body);
        let is_done = response.status == 200 && shown.contains(operation.expected());
        ensure!(is_done, "{}: {name} failed: {shown}", self.name);
        response.json().context("the response is no JSON")
    }

    async fn upload(&self, archive: &[u8]) -> Result<String> {
        let request = BenchRequest::form("/v1/skills", &self.key, "files[]", "skill.zip", archive);
        let response = request.send(&self.endpoint, TIMEOUT).await?;
        let uploaded = response.json().unwrap_or_default();
        text(&uploaded, "/id").with_context(|| format!("no skill: {}", response.body))
    }

    async fn delete(&self, container: &str) -> Result<()> {
        let id = container.replace("container_", "cntr_");
        let request = BenchRequest::new("DELETE", &format!("/v1/containers/{id}"), &self.key);
        let response = request.send(&self.endpoint, TIMEOUT).await?;
        ensure!(response.status == 200, "no deletion: {}", response.body);
        Ok(())
    }

    fn exec(&self) -> Result<()> {
        let mut command = Command::new(&self.path);
        command
            .args(["sandbox", "exec", "--reduced", "--data-dir"])
            .arg(self.folder.path())
            .args(["--", "python3", "-c", "pass"])
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", self.name);
        Ok(())
    }
}

fn text(value: &Value, pointer: &str) -> Result<String> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    Ok(found
        .with_context(|| format!("a response without {pointer}"))?
        .to_owned())
}
