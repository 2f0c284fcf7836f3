//! Clients of intercepted TLS: those that accept the proxy's certificate, those that do
//! not, and those that fail in another way.

use crate::egress::client_hello::tests::hello;
use crate::egress::intercept::TlsInterceptor;
use crate::egress::proxy::tests::Fake;
use crate::egress::proxy::{ConnectionShares, Proxy};
use crate::egress::{Egress, EgressConnection, EgressSecret, Verdict};
use rustls::client::{EchGreaseConfig, EchMode};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// Has a secret, so its TLS is intercepted.
const INTERCEPTED_HOST: &str = "good.com";
/// Has none.
const PASSED_HOST: &str = "a.fine.org";

struct World {
    proxy: Arc<Proxy>,
    address: SocketAddr,
}

/// A proxy that intercepts TLS, and a server that closes every connection.
async fn world() -> World {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dial = Fake {
        addresses: vec!["93.184.216.34".parse().unwrap()],
        server: server.local_addr().unwrap(),
    };
    tokio::spawn(async move { while server.accept().await.is_ok() {} });
    let egress = Egress {
        dial: Arc::new(dial),
        interceptor: Some(Arc::new(TlsInterceptor::new("/".into(), None).unwrap())),
        shares: ConnectionShares::default(),
    };
    let secret = EgressSecret {
        stand_in: "STAND-IN".into(),
        value: "s3cret".into(),
        domain: INTERCEPTED_HOST.parse().unwrap(),
    };
    let domains = [INTERCEPTED_HOST, PASSED_HOST]
        .map(|name| name.parse().unwrap())
        .into();
    let proxy = egress
        .command_proxy("owner", domains, vec![secret])
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Arc::clone(&proxy).serve(listener));
    World { proxy, address }
}

impl World {
    /// The roots of a client with the proxy's certificate file.
    fn roots(&self) -> RootCertStore {
        let (_, text) = self.proxy.trust().unwrap().into_file();
        let all = CertificateDer::pem_slice_iter(text.as_bytes());
        let mut roots = RootCertStore::empty();
        roots.add(all.last().unwrap().unwrap()).unwrap();
        roots
    }

    async fn tunnel(&self, host: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        let connect = format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n");
        client.write_all(connect.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 200"));
        client
    }

    /// The answer to a request inside TLS.
    async fn ask(&self, host: &'static str, config: ClientConfig) -> io::Result<String> {
        let client = self.tunnel(host).await;
        let name = ServerName::try_from(host).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let mut client = connector.connect(name, client).await?;
        let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
        client.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        // How the connection ends does not matter.
        let _ = client.read_to_end(&mut answer).await;
        Ok(String::from_utf8(answer).unwrap())
    }

    /// The one connection, once the proxy has finished it.
    async fn seen(&self) -> EgressConnection {
        while self.proxy.connections().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.proxy.connections().remove(0)
    }
}

fn client(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

/// Sends a meaningless encrypted ClientHello, as Chromium does.
fn client_with_grease(roots: RootCertStore) -> ClientConfig {
    let suite = aws_lc_rs::hpke::ALL_SUPPORTED_SUITES[0];
    let (key, _) = suite.generate_key_pair().unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let mode = EchMode::Grease(EchGreaseConfig::new(suite, key));
    let config = config.with_ech(mode).unwrap();
    config.with_root_certificates(roots).with_no_client_auth()
}

#[tokio::test]
async fn a_client_that_does_not_accept_the_certificate_is_not_trusting() {
    let world = world().await;
    let response = world
        .ask(INTERCEPTED_HOST, client(RootCertStore::empty()))
        .await;
    assert!(response.is_err());
    let seen = world.seen().await;
    assert_eq!(seen.verdict, Verdict::NotTrusted, "{seen:?}");
}

#[tokio::test]
async fn a_handshake_that_fails_otherwise_does_not_mention_trust() {
    let world = world().await;
    let mut client = world.tunnel(INTERCEPTED_HOST).await;
    // It offers no existing cipher suite.
    client.write_all(&hello(INTERCEPTED_HOST)).await.unwrap();
    let seen = world.seen().await;
    assert_eq!(seen.verdict, Verdict::Handshake, "{seen:?}");
    let why = seen.reason.unwrap();
    assert!(why.starts_with("the TLS handshake of the client"), "{why}");
}

#[tokio::test]
async fn a_meaningless_encrypted_hello_is_no_obstacle_where_tls_is_opened() {
    let world = world().await;
    let config = client_with_grease(world.roots());
    let answer = world.ask(INTERCEPTED_HOST, config).await.unwrap();
    // TLS with the proxy succeeded; the server closed the connection.
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert_eq!(world.seen().await.verdict, Verdict::Unreachable);
}

#[tokio::test]
async fn where_tls_is_not_opened_an_encrypted_hello_is_refused_with_what_to_do() {
    let world = world().await;
    let config = client_with_grease(world.roots());
    assert!(world.ask(PASSED_HOST, config).await.is_err());
    let seen = world.seen().await;
    assert_eq!(seen.verdict, Verdict::OtherName);
    let why = seen.reason.unwrap();
    assert!(
        why.contains("--disable-features=EncryptedClientHello"),
        "{why}"
    );
}
