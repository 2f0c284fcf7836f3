//! What a request's code may reach: exactly the domains it names, if the operator allows
//! them, with secrets that never enter the sandbox.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod place;

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use place::LocalServer;
use prowess::Prowess;
use prowess::provider::{ProviderConfig, ProviderKind, ScriptedOptions};
use prowess_engine::EngineSettings as RunSettings;
use prowess_sandbox::SandboxSettings;
use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_server::{ServeOptions, ServerSettings, serve};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// The model fetches both, and tells what became of it.
const SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = """
python3 -c "
import os, urllib.request
print('variable', os.environ.get('API_KEY'))
for host in ('good.test', 'also.test'):
    headers = {'Authorization': 'Bearer ' + os.environ.get('API_KEY', 'none')}
    try:
        request = urllib.request.Request('http://' + host + '/', headers=headers)
        print(host, urllib.request.urlopen(request).read().decode())
    except OSError as error:
        print(host, 'refused', getattr(error, 'code', 'no way'))
"
""" } }]

[[step]]
text = "{{tool_result}}"
"#;

/// The model sends its key everywhere in a request over TLS.
const TLS_SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = """
curl -sS --max-time 60 \"https://good.test/?k=$API_KEY\" -H \"Authorization: Bearer $API_KEY\" -d \"$API_KEY\"
""" } }]

[[step]]
text = "{{tool_result}}"
"#;

/// A world with two names, in which every public address is one local server.
#[derive(Debug)]
struct World(SocketAddr);

impl Dial for World {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            match host {
                "good.test" | "also.test" => Ok(vec!["93.184.216.34".parse().unwrap()]),
                _ => Err(io::ErrorKind::NotFound.into()),
            }
        })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

/// A server that answers with the key it was shown, backwards: what comes back into the
/// sandbox is then not the secret.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = read_head(&mut stream);
            let key = head.lines().find(|line| line.starts_with("authorization"));
            answer_backwards(&mut stream, key.unwrap_or_default());
        }
    });
    address
}

fn read_head(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

fn answer_backwards(stream: &mut impl Write, text: &str) {
    let text: String = text.chars().rev().collect();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream.flush().unwrap();
}

/// The same over TLS, with all of the request; the certificate of who signed for it is
/// written to a file.
fn tls_echo(ca_file: &Path) -> SocketAddr {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "An authority of its own");
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let ca_text = BASE64_STANDARD.encode(ca.der());
    let ca_text = format!("-----BEGIN CERTIFICATE-----\n{ca_text}\n-----END CERTIFICATE-----\n");
    std::fs::write(ca_file, ca_text).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(["good.test".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &ca).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let head = read_head(&mut stream);
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.unwrap().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let request = head + &String::from_utf8(body).unwrap();
            answer_backwards(&mut stream, &request);
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
    });
    address
}

struct Place {
    /// Its data is gone with it.
    _local: LocalServer,
    url: String,
    http: reqwest::Client,
    stop: CancellationToken,
}

impl Place {
    async fn open() -> Place {
        Self::open_with(SCRIPT, echo(), None).await
    }

    async fn open_with(script: &str, server: SocketAddr, ca_file: Option<&Path>) -> Place {
        let world = Arc::new(World(server));
        let ca_file = ca_file.map(Path::to_owned);
        let script = ProviderKind::new(ScriptedOptions::Text(script.to_owned()));
        let runs = RunSettings {
            domains: ["good.test", "*.good.test", "also.test"]
                .map(|rule| rule.parse().unwrap())
                .into(),
            ..RunSettings::default()
        };
        let builder = Prowess::builder().provider(ProviderConfig::new("stage", script));
        let tune = move |settings: &mut SandboxSettings| {
            settings.allow_reduced = true;
            settings.warm = 0;
            settings.dial = world;
            settings.extra_ca_file = ca_file;
        };
        let local = LocalServer::open(builder, runs, tune, ServerSettings::default()).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let app = local.app.clone();
        tokio::spawn(serve(listener, app, stop.clone(), ServeOptions::default()));
        Place {
            _local: local,
            url,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            stop,
        }
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}{path}", self.url));
        let answer = request.json(body).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }

    async fn shell(&self, environment: Value) -> (u16, Value) {
        let tools = json!([{"type": "shell", "environment": environment}]);
        let body = json!({"model": "stage/m", "input": "Go.", "store": false, "tools": tools});
        self.post("/responses", &body).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn allowing(domains: &[&str], secrets: Value) -> Value {
    json!({"type": "container_auto", "network_policy": {"type": "allowlist",
        "allowed_domains": domains, "domain_secrets": secrets}})
}

/// What the command printed.
fn printed(answer: &Value) -> &str {
    let items = answer["output"].as_array().unwrap();
    let output = items
        .iter()
        .find(|item| item["type"] == "shell_call_output");
    let printed = output.unwrap()["output"][0]["stdout"].as_str().unwrap();
    assert!(!printed.is_empty(), "{answer}");
    printed
}

#[tokio::test(flavor = "multi_thread")]
async fn code_reaches_the_domains_it_requested_and_no_others_the_server_allows() {
    let place = Place::open().await;
    let secrets = json!([{"domain": "good.test", "name": "API_KEY", "value": "s3cret"}]);
    let (status, answer) = place.shell(allowing(&["good.test"], secrets)).await;
    assert_eq!(status, 200, "{answer}");
    let lines: Vec<&str> = printed(&answer).lines().collect();
    assert!(lines[0].starts_with("variable secret_pw"), "{lines:?}");
    assert_eq!(lines[1], "good.test terc3s reraeb :noitazirohtua");
    assert_eq!(lines[2], "also.test refused 403");
    assert!(!answer.to_string().contains("s3cret"), "{answer}");

    let (_, answer) = place.shell(json!({"type": "container_auto"})).await;
    let lines: Vec<&str> = printed(&answer).lines().collect();
    assert_eq!(lines[0], "variable None");
    assert!(lines[1].starts_with("good.test refused"), "{lines:?}");
    assert!(lines[2].starts_with("also.test refused"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_domain_that_the_server_does_not_allow_is_refused_by_name() {
    let place = Place::open().await;
    let environment = allowing(&["good.test", "evil.test"], Value::Null);
    let (status, answer) = place.shell(environment).await;
    assert_eq!(status, 403, "{answer}");
    let error = &answer["error"];
    assert_eq!(error["code"], "network-not-allowed");
    insta::assert_snapshot!(error["message"].as_str().unwrap(), @"tools[0].environment.network_policy.allowed_domains: code that runs here may not reach `evil.test`; leave it out, or have the operator name it in `[sandbox] domains`");
    assert_eq!(
        error["param"],
        "tools[0].environment.network_policy.allowed_domains"
    );
    let (status, _) = place.shell(allowing(&["*.test"], Value::Null)).await;
    assert_eq!(status, 400, "a rule for a whole top-level domain is none");
    let (status, _) = place.shell(allowing(&["*.good.test"], Value::Null)).await;
    assert_eq!(status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_its_domains_and_shows_them_but_takes_no_secrets() {
    let place = Place::open().await;
    let policy = json!({"type": "allowlist", "allowed_domains": ["good.test"]});
    let new = json!({"name": "a", "network_policy": policy});
    let (status, made) = place.post("/containers", &new).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(made["network_policy"], policy);
    let reference = json!({"type": "container_reference", "container_id": made["id"]});
    let (_, answer) = place.shell(reference).await;
    let lines: Vec<&str> = printed(&answer).lines().collect();
    assert_eq!(
        lines[1], "good.test enon reraeb :noitazirohtua",
        "{lines:?}"
    );
    assert_eq!(lines[2], "also.test refused 403");

    let mut secret = new.clone();
    secret["network_policy"]["domain_secrets"] =
        json!([{"domain": "good.test", "name": "KEY", "value": "s3cret"}]);
    let (status, refused) = place.post("/containers", &secret).await;
    assert_eq!(status, 400, "{refused}");
    assert!(!refused.to_string().contains("s3cret"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_reaches_its_server_over_tls_in_headers_only() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    let server = tls_echo(&ca_file);
    let place = Place::open_with(TLS_SCRIPT, server, Some(&ca_file)).await;
    let secrets = json!([{"domain": "good.test", "name": "API_KEY", "value": "s3cret"}]);
    let (status, answer) = place.shell(allowing(&["good.test"], secrets)).await;
    assert_eq!(status, 200, "{answer}");
    assert!(!answer.to_string().contains("s3cret"), "{answer}");
    let seen: String = printed(&answer).chars().rev().collect();
    assert!(seen.starts_with("post /?k=secret_pw"), "{seen}");
    assert!(
        seen.contains("\nauthorization: bearer s3cret\r\n"),
        "{seen}"
    );
    assert_eq!(seen.matches("s3cret").count(), 1, "{seen}");
    let (_, body) = seen.split_once("\r\n\r\n").unwrap();
    assert!(body.starts_with("secret_pw"), "{seen}");
}
