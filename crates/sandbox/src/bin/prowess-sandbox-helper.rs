//! A minimal server for tests and benchmarks: reads one request from standard input, opens
//! a sandbox, runs the commands, and prints the results.

use prowess_sandbox::egress::BoxFuture;
use prowess_sandbox::{
    BackendKind, Command, ContainerSpec, Dial, DockerSettings, DomainRule, EgressSecret, Error,
    Execution, ExecutionReport, FileInfo, Grade, Layer, Network, PackageIndex, Policy,
    Requirements, Sandbox, SandboxLimits, SandboxSettings, SkillFile, SkillFiles,
};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HelperRequest {
    folder: PathBuf,
    cgroup: Option<String>,
    /// Use the Docker daemon at this socket, and this image.
    docker: Option<(PathBuf, String)>,
    allow_reduced: bool,
    limits: SandboxLimits,
    skills: Vec<HelperSkill>,
    put: Vec<(String, String)>,
    runs: Vec<HelperRun>,
    /// Commands in containers of another owner that run in the background: the runs start
    /// when each of these has printed something.
    beside: Vec<Command>,
    /// Use this container instead of a new one, and keep it.
    session: Option<String>,
    /// Sandboxes to keep provisioned. If any, each run but the first waits for one.
    warm: usize,
    /// Keep the new container.
    keep: bool,
    /// The address that all host names resolve to, for the package index `INDEX`.
    index: Option<SocketAddr>,
    /// Whether packages may be built from source.
    sources: bool,
    /// Texts of requirements, each to be built; the new container uses the last success.
    layers: Vec<String>,
    /// A server that the container may reach, and a secret for it.
    web: Option<Web>,
}

/// The one server on the network.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Web {
    domain: DomainRule,
    address: SocketAddr,
    /// The certificate that signs for it.
    ca_file: PathBuf,
    stand_in: String,
    value: String,
}

/// A name, and files as path, text and whether they may be executed.
type HelperSkill = (String, Vec<(String, String, bool)>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HelperRun {
    command: Command,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    env: Vec<(String, String)>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
struct HelperResponse {
    session: String,
    level: Grade,
    reports: Vec<ExecutionReport>,
    files: Vec<FileInfo>,
    /// The result of each layer: nothing if it was built, otherwise the error.
    layers: Vec<Option<String>>,
}

/// The URL of the package index.
const INDEX: &str = "http://index.test/simple/";

/// Resolves every name to one address.
#[derive(Debug)]
struct OneAddress(SocketAddr);

impl Dial for OneAddress {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![self.0.ip()]) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, std::io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

/// Connects to one address, and resolves every name to a public one.
#[derive(Debug)]
struct PublicDial(SocketAddr);

impl Dial for PublicDial {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![IpAddr::from([93, 184, 216, 34])]) })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, std::io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

impl Web {
    fn network(&self) -> Network {
        Network::Allow(vec![self.domain.clone()])
    }

    fn secret(&self) -> EgressSecret {
        EgressSecret {
            stand_in: self.stand_in.clone(),
            value: self.value.clone(),
            domain: self.domain.clone(),
        }
    }
}

const OWNER: &str = "test";

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let request = serde_json::from_str(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let answer = match runtime.block_on(serve(request)) {
        Ok(answer) => serde_json::to_vec(&answer)?,
        Err(error) => {
            let (code, message) = (error.code(), error.to_string());
            serde_json::to_vec(&serde_json::json!({ "error": code, "message": message }))?
        }
    };
    std::io::stdout().write_all(&answer)
}

async fn serve(request: HelperRequest) -> Result<HelperResponse, Error> {
    let mut settings = SandboxSettings::new(request.folder);
    settings.cgroup = request.cgroup;
    if let Some((socket, image)) = request.docker {
        settings.backend = BackendKind::Docker(DockerSettings { socket, image });
    }
    settings.allow_reduced = request.allow_reduced;
    settings.warm = request.warm;
    if let Some(address) = request.index {
        settings.dial = Arc::new(OneAddress(address));
        settings.packages = Some(PackageIndex {
            url: INDEX.into(),
            hosts: "index.test".parse().into_iter().collect(),
            allow_source: request.sources,
        });
    }
    let web = request.web;
    if let Some(web) = &web {
        settings.dial = Arc::new(PublicDial(web.address));
        settings.extra_ca_file = Some(web.ca_file.clone());
    }
    let sandbox = Sandbox::open(settings).await?;
    let (layer, layers) = build(&sandbox, &request.layers).await;
    let skills = request.skills.into_iter().map(skill).collect();
    let policy = Policy {
        limits: request.limits,
        network: web.as_ref().map(Web::network).unwrap_or_default(),
    };
    let keep = request.keep || request.session.is_some();
    let container = match request.session {
        Some(container) => container,
        None => {
            sandbox
                .create(
                    OWNER,
                    ContainerSpec {
                        policy,
                        skills,
                        layer,
                    },
                )
                .await?
        }
    };
    for (path, text) in request.put {
        sandbox
            .put(OWNER, &container, &path, text.into_bytes())
            .await?;
    }
    for command in request.beside {
        run_beside(&sandbox, command).await?;
    }
    let mut reports = Vec::new();
    for run in request.runs {
        let execution = Execution {
            command: run.command,
            stdin: run.stdin.into_bytes(),
            env: run.env,
            secrets: web.iter().map(Web::secret).collect(),
            timeout: run.timeout_ms.map(Duration::from_millis),
            ..Execution::default()
        };
        while request.warm > 0 && !reports.is_empty() && sandbox.warm_count() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        reports.push(sandbox.exec(OWNER, &container, execution).await?);
    }
    let files = sandbox.list(OWNER, &container).await?;
    if !keep {
        sandbox.destroy(OWNER, &container).await?;
    }
    Ok(HelperResponse {
        session: container,
        level: sandbox.host_probe().grade.clone(),
        reports,
        files,
        layers,
    })
}

/// Starts a command in the background, and waits until it prints something.
async fn run_beside(sandbox: &Sandbox, command: Command) -> Result<(), Error> {
    let id = sandbox.create("another", ContainerSpec::default()).await?;
    let (stream, mut output) = tokio::sync::mpsc::unbounded_channel();
    let sandbox = sandbox.clone();
    tokio::spawn(async move {
        let execution = Execution {
            command,
            stream: Some(stream),
            ..Execution::default()
        };
        sandbox.exec("another", &id, execution).await
    });
    output.recv().await;
    Ok(())
}

/// Builds layers, and returns the last that was built and the error of each.
async fn build(sandbox: &Sandbox, texts: &[String]) -> (Option<Layer>, Vec<Option<String>>) {
    let (mut last, mut failures) = (None, Vec::new());
    for text in texts {
        let built = match Requirements::parse(text) {
            Ok(requirements) => sandbox.layer(OWNER, &requirements).await,
            Err(error) => Err(error),
        };
        failures.push(built.as_ref().err().map(ToString::to_string));
        last = built.ok().or(last);
    }
    (last, failures)
}

fn skill((name, files): HelperSkill) -> SkillFiles {
    let files = files.into_iter().map(|(path, text, executable)| SkillFile {
        path,
        bytes: text.into_bytes().into(),
        executable,
    });
    SkillFiles {
        digest: format!("digest-of-{name}"),
        name,
        files: files.collect(),
    }
}
