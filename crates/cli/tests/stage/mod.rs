//! A gateway with upstreams of every vendor behind it, for the length of a test.
//!
//! Two servers are the upstreams: another Prowess, whose scripted model has the dialects of
//! Anthropic and OpenAI, and an independent mock, which has those of Google and AWS too and
//! can fail in many ways.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::installed::{installed, material};
use crate::server::{MASTER, TestServer};

/// A gateway and its upstreams; all end when this is dropped.
pub(crate) struct Stage {
    pub(crate) gateway: TestServer,
    _upstream: TestServer,
    _mock: Mock,
    _config: TempDir,
}

/// The upstreams: the name of each provider, and the settings of its kind. `{scripted}` and
/// `{mock}` are replaced by the addresses of the two servers.
const UPSTREAMS: [(&str, &str); 9] = [
    ("chat", "kind = 'openai'\nbase_url = '{scripted}/v1'"),
    (
        "responses",
        "kind = 'openai'\nresponses = true\nbase_url = '{scripted}/v1'",
    ),
    ("messages", "kind = 'anthropic'\nbase_url = '{scripted}'"),
    ("mock-chat", "kind = 'openai'\nbase_url = '{mock}/v1'"),
    (
        "mock-responses",
        "kind = 'openai'\nresponses = true\nbase_url = '{mock}/v1'",
    ),
    ("mock-messages", "kind = 'anthropic'\nbase_url = '{mock}'"),
    ("mock-gemini", "kind = 'gemini'\nbase_url = '{mock}'"),
    (
        "mock-converse",
        "kind = 'bedrock'\napi = 'converse'\nregion = 'eu-central-2'\nbase_url = '{mock}'",
    ),
    (
        "mock-invoke",
        "kind = 'bedrock'\napi = 'invoke'\nregion = 'eu-central-2'\nbase_url = '{mock}'",
    ),
];

/// The mock's failures: a name for each, and the header that triggers it.
const FAILURES: [(&str, &str); 4] = [
    ("busy", "x-aimock-chaos-ratelimit"),
    ("broken", "x-aimock-chaos-drop"),
    ("garbled", "x-aimock-chaos-malformed"),
    ("cut", "x-aimock-chaos-disconnect"),
];

impl Stage {
    /// Starts all of it.
    pub(crate) fn start() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let server = |name: &str, config: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, config).unwrap();
            TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())])
        };
        let script = material("upstream").join("script.toml");
        let upstream = server(
            "upstream.toml",
            &format!(
                "[providers.stage]\nkind = 'scripted'\nscript = '{}'\n\
                 [[models]]\nname = '*'\nprovider = 'stage'\n",
                script.display()
            ),
        );
        let mock = Mock::start();
        let gateway = server("gateway.toml", &gateway_config(upstream.url(), &mock.url));
        Stage {
            gateway,
            _upstream: upstream,
            _mock: mock,
            _config: folder,
        }
    }

    /// Sets the address of the gateway in a client's environment, and the models to use: one
    /// for each of these upstreams.
    pub(crate) fn configure(&self, command: &mut Command, upstreams: &[&str]) {
        let models: Vec<String> = upstreams.iter().map(|name| model(name)).collect();
        command
            .env("PROWESS_URL", self.gateway.url())
            .env("PROWESS_API_KEY", MASTER)
            .env("PROWESS_MODELS", models.join(","));
    }
}

/// The model of an upstream.
pub(crate) fn model(upstream: &str) -> String {
    format!("{upstream}/hero")
}

/// The mock in each of its dialects: the names of the providers.
pub(crate) fn mocks() -> Vec<String> {
    let names = UPSTREAMS.iter().map(|(name, _)| (*name).to_owned());
    names.filter(|name| name.starts_with("mock")).collect()
}

/// All its ways to fail, in each of its dialects.
pub(crate) fn failing() -> Vec<String> {
    let all = mocks().into_iter();
    all.flat_map(|name| FAILURES.map(|(failure, _)| format!("{name}-{failure}")))
        .collect()
}

fn gateway_config(scripted: &str, mock: &str) -> String {
    let mut config = String::new();
    for (name, kind) in UPSTREAMS {
        let kind = kind.replace("{scripted}", scripted).replace("{mock}", mock);
        let mut provider = |name: String, more: &str| {
            let common = format!("api_key = '{MASTER}'\nattempts = 1");
            writeln!(config, "[providers.{name}]\n{kind}\n{common}\n{more}").unwrap();
        };
        provider(name.to_owned(), "");
        // Each way to fail is a provider of its own: failures in a row are counted.
        for (failure, header) in FAILURES {
            provider(
                format!("{name}-{failure}"),
                &format!("headers = {{ {header} = '1' }}"),
            );
        }
    }
    config
}

/// The mock, killed when this is dropped.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start() -> Mock {
        let program = installed("node").join("node_modules/@copilotkit/aimock/dist/cli.js");
        let mut child = Command::new("node")
            .arg(program)
            .args(["--port", "0", "--fixtures"])
            .arg(material("upstream").join("mock.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.to_owned();
            }
        };
        // Its later output must not fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Mock { child, url }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
