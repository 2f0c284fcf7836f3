//! The gateways that are compared, each set up as its own documentation advises for this
//! workload, with its request log off or on.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::process::{GatewayProcess, free_address};
use crate::binaries::NamedBinary;

/// The model's name by which requests pass as they are.
pub const PASS_MODEL: &str = "pass/claude";
/// The model's name by which Prowess translates to another dialect.
pub const TRANSLATE_MODEL: &str = "translate/gpt";

/// What is installed to measure LiteLLM.
const LITELLM_REQUIREMENTS: &str = include_str!("../../gateway/litellm.txt");

/// The version of LiteLLM that is measured.
pub fn litellm_version() -> &'static str {
    let mut pinned = LITELLM_REQUIREMENTS
        .lines()
        .filter_map(|line| line.strip_prefix("litellm[proxy]=="));
    pinned.next().unwrap_or_default()
}

/// Below this everything started here keeps its files.
fn folder() -> Result<TempDir> {
    tempfile::tempdir().context("no temporary folder")
}

/// Whether a gateway writes a line for each request, to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLog {
    /// It does not.
    Off,
    /// It does.
    On,
}

/// A running gateway and its folder.
#[derive(Debug)]
pub struct RunningGateway {
    /// Its name in reports.
    pub name: String,
    /// Its process.
    pub process: GatewayProcess,
    _folder: TempDir,
}

/// nginx as a reverse proxy that keeps its connections to the model.
pub fn nginx(model: SocketAddr, log: RequestLog) -> Result<RunningGateway> {
    let folder = folder()?;
    let address = free_address()?;
    let place = folder.path().display();
    let access_log = match log {
        RequestLog::Off => "off".to_owned(),
        RequestLog::On => format!("{place}/access.log"),
    };
    let config = format!(
        "daemon off; worker_processes auto; pid {place}/pid; error_log stderr crit;
         worker_rlimit_nofile 20000;
         events {{ worker_connections 8192; }}
         http {{
           access_log {access_log}; client_max_body_size 64m; keepalive_requests 100000000;
           client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
           fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi;
           scgi_temp_path {place}/scgi;
           upstream model {{
             server {model}; keepalive 256; keepalive_requests 100000000;
           }}
           server {{
             listen {address} backlog=4096;
             location / {{
               proxy_pass http://model; proxy_http_version 1.1;
               proxy_set_header Connection \"\";
             }}
           }}
         }}"
    );
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, config)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder.path()).arg("-c").arg(&file);
    // It warns of a log it cannot open before it has read that there is none.
    command.stderr(Stdio::null());
    let process = GatewayProcess::start(&mut command, address, Duration::from_secs(10))?;
    Ok(RunningGateway {
        name: "nginx".to_owned(),
        process,
        _folder: folder,
    })
}

/// Prowess, from one of its binaries.
pub fn prowess(binary: &NamedBinary, model: SocketAddr, log: RequestLog) -> Result<RunningGateway> {
    let folder = folder()?;
    let address = free_address()?;
    let config = format!(
        "[providers.pass]\nkind = \"anthropic\"\nbase_url = \"http://{model}\"\napi_key = \"sk-model\"\n\
         [providers.translate]\nkind = \"openai\"\nbase_url = \"http://{model}/v1\"\napi_key = \"sk-model\"\n"
    );
    let file = folder.path().join("prowess.toml");
    std::fs::write(&file, config)?;
    let mut command = Command::new(&binary.path);
    let (detail, lines) = match log {
        RequestLog::Off => ("warn", Stdio::null()),
        RequestLog::On => (
            "info",
            std::fs::File::create(folder.path().join("log"))?.into(),
        ),
    };
    command
        .args(["serve", "--log", detail, "--listen", &address.to_string()])
        .arg("--config")
        .arg(&file)
        .arg("--data-dir")
        .arg(folder.path().join("data"))
        .stderr(lines);
    let process = GatewayProcess::start(&mut command, address, Duration::from_secs(10))?;
    Ok(RunningGateway {
        name: binary.name.clone(),
        process,
        _folder: folder,
    })
}

/// LiteLLM's proxy with one worker, from the environment in which it was installed.
pub fn litellm(environment: &Path, model: SocketAddr) -> Result<RunningGateway> {
    let folder = folder()?;
    let address = free_address()?;
    let config = format!(
        "model_list:\n  - model_name: {PASS_MODEL}\n    litellm_params:\n      model: anthropic/claude-sonnet-4-5\n      api_base: http://{model}\n      api_key: sk-model\n"
    );
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, config)?;
    let mut command = Command::new(environment.join("bin/litellm"));
    command
        .arg("--config")
        .arg(&file)
        .args(["--host", "127.0.0.1", "--num_workers", "1"])
        .args(["--port", &address.port().to_string()])
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_LOG", "ERROR")
        // It listens on this machine only, and Prowess asks for no key here either.
        .env(
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
            "true",
        )
        .env("NO_PROXY", "127.0.0.1")
        .stderr(Stdio::null());
    let process = GatewayProcess::start(&mut command, address, Duration::from_secs(180))?;
    Ok(RunningGateway {
        name: "LiteLLM".to_owned(),
        process,
        _folder: folder,
    })
}
