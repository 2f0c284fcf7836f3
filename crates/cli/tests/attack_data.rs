//! A server whose disk gets full, whose tenants keep too much, or whose database is lost.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use server::{MASTER, prowess};

/// Mounts a small file system over the data folder, then becomes the server.
const ON_SMALL_DISK: &str = r#"mount -t tmpfs -o size=16m none "$1" && shift && exec "$@""#;

/// A server with a configuration of its own, killed when this is dropped.
struct LimitedServer {
    child: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl LimitedServer {
    fn start(config: &str, small_disk: bool) -> LimitedServer {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(folder.path().join("prowess.toml"), config).unwrap();
        let ours = prowess(folder.path());
        let mut command = match small_disk {
            false => prowess(folder.path()),
            true => {
                let mut command = Command::new("unshare");
                command.args([
                    "--map-root-user",
                    "--mount",
                    "sh",
                    "-c",
                    ON_SMALL_DISK,
                    "sh",
                ]);
                command.arg(&data).arg(ours.get_program());
                for (name, value) in ours.get_envs() {
                    match value {
                        Some(value) => command.env(name, value),
                        None => command.env_remove(name),
                    };
                }
                command.current_dir(folder.path());
                command
            }
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("PROWESS_MASTER_KEY", MASTER)
            .env("PROWESS_LOG", "error")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| {
            let line = line.unwrap();
            line.strip_prefix("listening on ").map(str::to_owned)
        });
        // Its later output must be read, or it would block.
        std::thread::spawn(move || lines.map_while(Result::ok).count());
        LimitedServer {
            url: url.unwrap_or_else(|| panic!("the server did not start")),
            child,
            folder,
        }
    }

    /// The data folder as the server sees it.
    fn data(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.child.id()));
        let data = self.folder.path().join("data");
        root.join(data.strip_prefix("/").unwrap())
    }

    /// Uses up all room on the server's disk.
    fn fill(&self) -> PathBuf {
        let ballast = self.data().join("ballast");
        let mut file = File::create(&ballast).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        ballast
    }

    async fn upload(&self, dialect: Dialect, data: Vec<u8>) -> Answer {
        let part = Part::bytes(data).file_name("a.bin");
        let form = Form::new().text("purpose", "user_data").part("file", part);
        let client = reqwest::Client::new();
        let request = match dialect {
            Dialect::OpenAi => client.post(format!("{}/openai/v1/files", self.url)),
            Dialect::Anthropic => client
                .post(format!("{}/v1/files", self.url))
                .header("anthropic-version", "2023-06-01")
                .header("anthropic-beta", "files-api-2025-04-14"),
        };
        Answer::read(request.multipart(form).bearer_auth(MASTER)).await
    }

    async fn delete(&self, id: &str) -> Answer {
        let url = format!("{}/openai/v1/files/{id}", self.url);
        Answer::read(reqwest::Client::new().delete(url).bearer_auth(MASTER)).await
    }

    async fn get(&self, path: &str) -> Answer {
        Answer::read(reqwest::Client::new().get(format!("{}{path}", self.url))).await
    }

    /// Asks whether the server is ready until it gives this answer: what was found out is
    /// told to everybody for a moment.
    async fn readyz(&self, status: StatusCode) -> Answer {
        for _ in 0..300 {
            let answer = self.get("/readyz").await;
            if answer.status == status {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("/readyz never said {status}");
    }
}

impl Drop for LimitedServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    Anthropic,
}

#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    async fn read(request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.json().await.unwrap(),
        }
    }

    fn message(&self) -> &str {
        self.body["error"]["message"].as_str().unwrap()
    }
}

/// Content that no other upload has.
fn unique(number: u32, size: usize) -> Vec<u8> {
    number.to_le_bytes().repeat(size / 4)
}

async fn full_answer(server: &LimitedServer, dialect: Dialect) -> Answer {
    // The log of the database may have room for some.
    for number in 0..3_000 {
        let answer = server.upload(dialect, unique(number, 8_000)).await;
        if answer.status != StatusCode::OK {
            return answer;
        }
    }
    panic!("the disk never got full");
}

#[tokio::test]
async fn a_full_disk_is_507_in_each_dialect_and_heals_without_a_restart() {
    let server = LimitedServer::start("[store]\nreserve_bytes = 0\n", true);
    server.readyz(StatusCode::OK).await;
    let ballast = server.fill();
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let answer = full_answer(&server, dialect).await;
        assert_eq!(
            answer.status,
            StatusCode::INSUFFICIENT_STORAGE,
            "{answer:?}"
        );
        assert!(answer.message().contains("disk is full"), "{answer:?}");
        assert!(!answer.message().contains("try again"), "{answer:?}");
        assert_eq!(answer.headers["x-should-retry"], "false");
    }
    let large = server.upload(Dialect::OpenAi, unique(1, 3 << 20)).await;
    assert_eq!(large.status, StatusCode::INSUFFICIENT_STORAGE, "{large:?}");
    let unready = server.readyz(StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(unready.message().contains("is full"), "{unready:?}");
    // No path is shown to clients.
    assert!(!unready.body.to_string().contains('/'), "{unready:?}");
    assert_eq!(server.get("/healthz").await.status, StatusCode::OK);
    fs::remove_file(ballast).unwrap();
    let kept = server.upload(Dialect::OpenAi, unique(2, 3 << 20)).await;
    assert_eq!(kept.status, StatusCode::OK, "{kept:?}");
    let gone = server.delete(kept.body["id"].as_str().unwrap()).await;
    assert_eq!(gone.status, StatusCode::OK, "{gone:?}");
    server.readyz(StatusCode::OK).await;
}

#[tokio::test]
async fn uploads_are_refused_before_the_disk_is_full_and_deletions_are_not() {
    let server = LimitedServer::start("[store]\nreserve_bytes = 8_000_000\n", true);
    let mut kept = Vec::new();
    let refused = loop {
        let number = u32::try_from(kept.len()).unwrap();
        let answer = server
            .upload(Dialect::OpenAi, unique(number, 1 << 20))
            .await;
        if answer.status != StatusCode::OK {
            break answer;
        }
        kept.push(answer.body["id"].as_str().unwrap().to_owned());
        assert!(kept.len() < 16);
    };
    assert_eq!(refused.status, StatusCode::INSUFFICIENT_STORAGE);
    assert!(kept.len() > 2, "{}", kept.len());
    for id in kept {
        assert_eq!(server.delete(&id).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_tenant_beyond_its_quota_is_403_in_each_dialect_until_it_deletes() {
    let server = LimitedServer::start("[store]\ntenant_bytes = 100_000\n", false);
    let first = server.upload(Dialect::OpenAi, unique(1, 80_000)).await;
    assert_eq!(first.status, StatusCode::OK, "{first:?}");
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let refused = server.upload(dialect, unique(2, 80_000)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{refused:?}");
        let message = refused.message();
        assert!(message.contains("80000 of 100000 bytes"), "{message}");
        assert_eq!(refused.headers["x-should-retry"], "false");
    }
    server.delete(first.body["id"].as_str().unwrap()).await;
    let second = server.upload(Dialect::Anthropic, unique(2, 80_000)).await;
    assert_eq!(second.status, StatusCode::OK, "{second:?}");
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = prowess(folder);
    command.args(args).env("PROWESS_MASTER_KEY", MASTER);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_lost_database_is_refused_by_the_server_and_by_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let made = run(folder.path(), &["keys", "create", "one"]);
    assert!(made.status.success(), "{made:?}");
    File::create(folder.path().join("data/prowess.db")).unwrap();
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["keys", "list"],
        &["usage"],
        &["runs"],
    ] {
        let refused = run(folder.path(), args);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{args:?}: {stderr}");
        assert!(stderr.contains("0 bytes"), "{args:?}: {stderr}");
        assert!(stderr.contains("accept_empty = true"), "{args:?}: {stderr}");
    }
    let config = folder.path().join("prowess.toml");
    fs::write(config, "[store]\naccept_empty = true\n").unwrap();
    let listed = run(folder.path(), &["keys", "list"]);
    assert!(listed.status.success(), "{listed:?}");
}
