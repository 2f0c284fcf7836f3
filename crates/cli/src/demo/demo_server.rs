//! The demo's server, on a free port, with temporary data.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use prowess_provider::config::{ModelConfig, ProviderConfig, ProviderKind, ScriptedOptions};
use prowess_sandbox::SandboxSettings;
use prowess_server::{ServeOptions, ServerSettings, serve};
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, LoadOptions, Skill};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use prowess::Prowess;

const SCRIPT: &str = include_str!("script.toml");

/// The files of `examples/skills/bouncing-ball`.
const FILES: [(&str, &str); 2] = [
    (
        "bouncing-ball/SKILL.md",
        include_str!("../../../../examples/skills/bouncing-ball/SKILL.md"),
    ),
    (
        "bouncing-ball/scripts/make_gif.py",
        include_str!("../../../../examples/skills/bouncing-ball/scripts/make_gif.py"),
    ),
];

/// A running server, and a client of it.
pub(super) struct DemoServer {
    pub(super) prowess: Prowess,
    pub(super) url: String,
    pub(super) skill: Skill,
    http: Client,
    stop: CancellationToken,
    server_task: JoinHandle<std::io::Result<()>>,
    folder: TempDir,
}

impl DemoServer {
    pub(super) async fn open(
        tune: impl FnOnce(&mut SandboxSettings) + Send + 'static,
    ) -> anyhow::Result<DemoServer> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
        let prowess = Prowess::builder()
            .data_dir(folder.path())
            .provider(ProviderConfig::new("stage", script))
            .model(ModelConfig::new("demo", "stage"))
            .sandbox(tune)
            .open()
            .await?;
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("cannot listen on a local port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let stop = CancellationToken::new();
        let app = prowess.app(ServerSettings::default());
        let options = ServeOptions {
            grace: Duration::from_secs(2),
            pages: Some(prowess_console::router(&app)),
            ..ServeOptions::default()
        };
        let served = tokio::spawn(serve(listener, app, stop.clone(), options));
        Ok(DemoServer {
            prowess,
            url,
            skill: load_example()?,
            // A proxy from the environment cannot reach a local port.
            http: Client::builder().no_proxy().build()?,
            stop,
            server_task: served,
            folder,
        })
    }

    /// Its data directory.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Uploads the skill and returns its id.
    pub(super) async fn upload(&self) -> anyhow::Result<String> {
        let zip = self
            .skill
            .bundle
            .to_zip(&ArchiveLayout::wrapped(&self.skill.name)?)?;
        let part = Part::bytes(zip).file_name("bouncing-ball.zip");
        let form = Form::new().part("files[]", part);
        let request = self.http.post(format!("{}/v1/skills", self.url));
        let stored: Value = send(request.multipart(form)).await?.json().await?;
        let id = stored.get("id").and_then(Value::as_str);
        Ok(id
            .context("the server's response has no skill id")?
            .to_owned())
    }

    /// Sends a request to the model; the response is a stream.
    pub(super) async fn send_request(&self, body: &Value) -> anyhow::Result<Response> {
        let request = self.http.post(format!("{}/v1/messages", self.url));
        let request = request.header("anthropic-version", "2023-06-01");
        send(request.json(body)).await
    }

    /// The content of a file.
    pub(super) async fn download(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        let request = self.http.get(format!("{}/v1/files/{id}/content", self.url));
        Ok(send(request).await?.bytes().await?.to_vec())
    }

    /// Stops the server gracefully.
    pub(super) async fn close(self) {
        self.stop.cancel();
        // The task was cancelled; its result does not matter.
        let _ = self.server_task.await;
        self.prowess.close().await;
    }
}

async fn send(request: RequestBuilder) -> anyhow::Result<Response> {
    let response = request
        .send()
        .await
        .context("the server does not respond")?;
    let status = response.status();
    if !status.is_success() {
        bail!("the server returned {status}: {}", response.text().await?);
    }
    Ok(response)
}

fn load_example() -> anyhow::Result<Skill> {
    let files = FILES.map(|(name, text)| (name, text.into(), false));
    let bundle = Bundle::from_files(files, &BundleLimits::default())?;
    let loaded = Skill::load(bundle, &LoadOptions::default());
    loaded.skill.context("the example is not a skill")
}
