//! A fake internet with one local server that has several names with TLS, and records
//! every request.

use crate::support::{OWNER, TestSandbox};
use prowess_sandbox::egress::{BoxFuture, Dial};
use prowess_sandbox::{
    Command, EgressSecret, Execution, ExecutionReport, Network, Policy, SandboxSettings,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;

pub(crate) const STAND_IN: &str = "KEY-STAND-IN";
pub(crate) const VALUE: &str = "real-key-4711";

/// Names that resolve to the server. The certificate of `wrong.test` is for another name,
/// that of `untrusted.test` is signed by no one known.
const NAMES: [&str; 6] = [
    "good.test",
    "a.deep.test",
    "plain.test",
    "wrong.test",
    "untrusted.test",
    "http.test",
];

/// The domains that containers are allowed, and those with the secret.
const DOMAINS: [&str; 6] = [
    "good.test",
    "*.deep.test",
    "plain.test",
    "wrong.test",
    "untrusted.test",
    "http.test",
];
const WITH_SECRET: [&str; 5] = [
    "good.test",
    "*.deep.test",
    "wrong.test",
    "untrusted.test",
    "http.test",
];

/// Each request: the server name of its TLS, if any, and its bytes.
type Seen = Arc<Mutex<Vec<(Option<String>, String)>>>;

pub(crate) struct World {
    address: SocketAddr,
    seen: Seen,
    /// The certificate that signs for the server, and a folder with it in a file.
    pub(crate) ca: String,
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let (ca, resolver) = certificates();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
        let (config, log) = (Arc::new(config), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, log) = (Arc::clone(&config), Arc::clone(&log));
                // A broken connection is a refused one.
                std::thread::spawn(move || serve(stream?, config, &log));
            }
        });
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("ca.pem"), &ca).unwrap();
        Self {
            address,
            seen,
            ca,
            folder,
        }
    }

    /// A sandbox in this world.
    pub(crate) async fn sandbox(&self, change: impl FnOnce(&mut SandboxSettings)) -> TestSandbox {
        let dial = Arc::new(LocalDial(self.address));
        let ca = self.folder.path().join("ca.pem");
        TestSandbox::open(|settings| {
            settings.dial = dial;
            settings.extra_ca_file = Some(ca);
            change(settings);
        })
        .await
    }

    /// The helper's settings to reach `good.test` with the secret.
    pub(crate) fn for_helper(&self) -> serde_json::Value {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.folder.path(), open).unwrap();
        serde_json::json!({"domain": "good.test", "address": self.address,
            "ca_file": self.folder.path().join("ca.pem"), "stand_in": STAND_IN, "value": VALUE})
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<(Option<String>, String)> {
        self.seen.lock().unwrap().clone()
    }

    /// The one request so far.
    pub(crate) fn only(&self) -> String {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].1.clone()
    }
}

/// A container that may reach all names.
pub(crate) async fn new_container(one: &TestSandbox) -> String {
    let policy = Policy {
        network: Network::Allow(DOMAINS.map(|name| name.parse().unwrap()).into()),
        ..Policy::default()
    };
    one.sandbox.create(OWNER, policy.into()).await.unwrap()
}

fn secrets() -> Vec<EgressSecret> {
    let secret = |domain: &str| EgressSecret {
        stand_in: STAND_IN.into(),
        value: VALUE.into(),
        domain: domain.parse().unwrap(),
    };
    WITH_SECRET.map(secret).into()
}

/// Runs a command with the secret; its output must never contain it.
pub(crate) async fn run(one: &TestSandbox, container: &str, command: Command) -> ExecutionReport {
    let execution = Execution {
        command,
        env: vec![("KEY".into(), STAND_IN.into())],
        secrets: secrets(),
        ..Execution::default()
    };
    let report = one.sandbox.exec(OWNER, container, execution).await.unwrap();
    let printed = format!("{}{}", report.stdout.text, report.stderr.text);
    assert!(!printed.contains(VALUE), "{printed}");
    report
}

#[derive(Debug)]
struct LocalDial(SocketAddr);

impl Dial for LocalDial {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            if NAMES.contains(&host) {
                Ok(vec!["93.184.216.34".parse().unwrap()])
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        })
    }

    fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(self.0))
    }
}

/// A valid certificate for most names, an invalid one for the other two.
#[derive(Debug)]
struct BySni {
    matching: Arc<CertifiedKey>,
    wrong: Arc<CertifiedKey>,
    untrusted: Arc<CertifiedKey>,
}

impl ResolvesServerCert for BySni {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(match hello.server_name()? {
            "wrong.test" => &self.wrong,
            "untrusted.test" => &self.untrusted,
            _ => &self.matching,
        }))
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "The servers' own authority");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn certified(issuer: &CertifiedIssuer<'static, KeyPair>, names: &[&str]) -> Arc<CertifiedKey> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(names).unwrap();
    params.use_authority_key_identifier_extension = true;
    let leaf = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = aws_lc_rs::default_provider();
    let chain = vec![leaf.der().clone()];
    Arc::new(CertifiedKey::from_der(chain, key, &provider).unwrap())
}

fn certificates() -> (String, BySni) {
    let (known, unknown) = (issuer(), issuer());
    let resolver = BySni {
        matching: certified(&known, &NAMES),
        wrong: certified(&known, &["other.test"]),
        untrusted: certified(&unknown, &NAMES),
    };
    (pem(known.der()), resolver)
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    use base64::prelude::{BASE64_STANDARD, Engine as _};
    let body = BASE64_STANDARD.encode(certificate);
    let lines: Vec<_> = body
        .as_bytes()
        .chunks(64)
        .map(String::from_utf8_lossy)
        .collect();
    let body = lines.join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}

/// Answers one request, in TLS if it begins like TLS.
fn serve(stream: std::net::TcpStream, config: Arc<ServerConfig>, log: &Seen) -> io::Result<()> {
    let mut first = [0];
    if stream.peek(&mut first)? == 0 {
        return Ok(());
    }
    if first != [22] {
        return answer(stream, log, |_| None);
    }
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let stream = StreamOwned::new(connection, stream);
    answer(stream, log, |stream| {
        stream.conn.server_name().map(String::from)
    })
}

fn answer<S: Read + Write>(
    mut stream: S,
    log: &Seen,
    name: impl Fn(&S) -> Option<String>,
) -> io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    for _ in 0..length.map_or(0, |length| length.parse().unwrap()) {
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    log.lock().unwrap().push((name(&stream), request));
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")?;
    stream.flush()
}
