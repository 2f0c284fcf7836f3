//! A real Prometheus, with the configuration of the examples.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::Value;
use tempfile::TempDir;

use crate::server::MASTER;

const MAX_WAIT: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(50);

/// A Prometheus that has scraped the server; killed when this is dropped.
pub(super) struct Prometheus {
    child: Child,
    url: String,
    http: Client,
    _folder: TempDir,
}

/// A program of Debian's package: unpacked by `cargo xtask test`, or installed.
fn program(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let unpacked = target.join("prometheus/usr/bin").join(name);
    if unpacked.exists() {
        return unpacked;
    }
    let installed = Path::new("/usr/bin").join(name);
    assert!(
        installed.exists(),
        "{} is missing: run `cargo xtask test` once, which installs it",
        unpacked.display()
    );
    installed
}

impl Prometheus {
    /// Starts it with the examples' configuration, for this server.
    pub(super) async fn start(examples: &Path, server: &str) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let config = std::fs::read_to_string(examples.join("prometheus.yml")).unwrap();
        let address = server.strip_prefix("http://").unwrap();
        let config = config
            .replace("127.0.0.1:4141", address)
            .replace("_interval: 15s", "_interval: 1s");
        assert!(config.contains(address), "{config}");
        std::fs::write(place("prometheus.yml"), config).unwrap();
        std::fs::copy(examples.join("alerts.yml"), place("alerts.yml")).unwrap();
        std::fs::write(place("prowess-key"), MASTER).unwrap();
        let checked = Command::new(program("promtool"))
            .args(["check", "config"])
            .arg(place("prometheus.yml"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{errors}");
        // It cannot say which free port it has chosen.
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = port.local_addr().unwrap().to_string();
        drop(port);
        let mut child = Command::new(program("prometheus"))
            .arg(format!("--web.listen-address={address}"))
            .arg(format!(
                "--config.file={}",
                place("prometheus.yml").display()
            ))
            .arg(format!("--storage.tsdb.path={}", place("data").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut log = String::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("Prometheus ended:\n{log}");
            };
            if line.contains("Server is ready") {
                break;
            }
            log += &format!("{line}\n");
        }
        // Its later output must not fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let prometheus = Prometheus {
            child,
            url: format!("http://{address}"),
            http: Client::new(),
            _folder: folder,
        };
        prometheus.wait_for_scrape().await;
        prometheus
    }

    /// Waits until everything that it scrapes is stored.
    async fn wait_for_scrape(&self) {
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let up = self.query("up == 1 and scrape_samples_scraped > 0").await;
            let samples = up.unwrap_or_default();
            if samples
                .as_array()
                .is_some_and(|samples| !samples.is_empty())
            {
                return;
            }
            let targets = self.get("targets", &[]).await;
            assert!(Instant::now() < deadline, "no scrape: {targets:?}");
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// The result of an expression.
    pub(super) async fn query(&self, expression: &str) -> Result<Value, String> {
        let found = self.get("query", &[("query", expression)]).await?;
        Ok(found["result"].clone())
    }

    /// The labels of each series of a metric.
    pub(super) async fn series(&self, metric: &str) -> Vec<Value> {
        let found = self.get("series", &[("match[]", metric)]).await.unwrap();
        found.as_array().unwrap().clone()
    }

    /// The names of all of the server's own metrics.
    pub(super) async fn metric_names(&self) -> Vec<String> {
        let found = self.get("label/__name__/values", &[]).await.unwrap();
        let names = found.as_array().unwrap().iter();
        let names = names.map(|name| name.as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with("prowess_")).collect()
    }

    /// The expressions of the alert rules, as it has read them.
    pub(super) async fn rules(&self) -> Vec<String> {
        let found = self.get("rules", &[]).await.unwrap();
        let groups = found["groups"].as_array().unwrap().iter();
        let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
        rules
            .map(|rule| rule["query"].as_str().unwrap().to_owned())
            .collect()
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, String> {
        let url = format!("{}/api/v1/{path}", self.url);
        let url = reqwest::Url::parse_with_params(&url, query).unwrap();
        let answer = self.http.get(url).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        match answer["status"].as_str() {
            Some("success") => Ok(answer["data"].clone()),
            _ => Err(answer["error"].to_string()),
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
