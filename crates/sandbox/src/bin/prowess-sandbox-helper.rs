//! A server in a nutshell, for tests and measurements: reads one request from standard
//! input, opens a sandbox, runs what is asked, and prints what came of it. Becomes the
//! launcher when started as one.

use prowess_sandbox::{
    Command, DockerSettings, Engine, Error, Execution, FileInfo, Grade, Limits, NewSession, Policy,
    Report, Sandbox, Settings, SkillFile, SkillFiles,
};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Request {
    folder: PathBuf,
    cgroup: Option<String>,
    /// Use the Docker daemon at this socket, and this image.
    docker: Option<(PathBuf, String)>,
    allow_reduced: bool,
    limits: Limits,
    skills: Vec<Skill>,
    put: Vec<(String, String)>,
    runs: Vec<Run>,
    /// Use this session instead of a new one, and keep it.
    session: Option<String>,
    /// Sandboxes to keep ready. If any, each run but the first waits until one is.
    warm: usize,
    /// Keep the new session.
    keep: bool,
}

/// A name, and files as path, text and whether they may be executed.
type Skill = (String, Vec<(String, String, bool)>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    command: Command,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    env: Vec<(String, String)>,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
struct Answer {
    session: String,
    level: Grade,
    reports: Vec<Report>,
    files: Vec<FileInfo>,
}

const OWNER: &str = "test";

fn main() -> std::io::Result<()> {
    prowess_launcher::maybe_run();
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

async fn serve(request: Request) -> Result<Answer, Error> {
    let mut settings = Settings::new(request.folder);
    settings.cgroup = request.cgroup;
    if let Some((socket, image)) = request.docker {
        settings.engine = Engine::Docker(DockerSettings { socket, image });
    }
    settings.allow_reduced = request.allow_reduced;
    settings.warm = request.warm;
    let sandbox = Sandbox::open(settings).await?;
    let skills = request.skills.into_iter().map(skill).collect();
    let policy = Policy {
        limits: request.limits,
        ..Policy::default()
    };
    let keep = request.keep || request.session.is_some();
    let session = match request.session {
        Some(session) => session,
        None => {
            sandbox
                .create(
                    OWNER,
                    NewSession {
                        policy,
                        skills,
                        ..NewSession::default()
                    },
                )
                .await?
        }
    };
    for (path, text) in request.put {
        sandbox
            .put(OWNER, &session, &path, text.into_bytes())
            .await?;
    }
    let mut reports = Vec::new();
    for run in request.runs {
        let execution = Execution {
            command: run.command,
            stdin: run.stdin.into_bytes(),
            env: run.env,
            timeout: run.timeout_ms.map(Duration::from_millis),
            ..Execution::default()
        };
        while request.warm > 0 && !reports.is_empty() && sandbox.ready() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        reports.push(sandbox.exec(OWNER, &session, execution).await?);
    }
    let files = sandbox.list(OWNER, &session).await?;
    if !keep {
        sandbox.destroy(OWNER, &session).await?;
    }
    Ok(Answer {
        session,
        level: sandbox.level().grade.clone(),
        reports,
        files,
    })
}

fn skill((name, files): Skill) -> SkillFiles {
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
