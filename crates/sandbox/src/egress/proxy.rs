//! The proxy of one execution: takes connections until it is dropped.

use super::address::is_public;
use super::dial::Dial;
use super::head::{self, Asked};
use super::rules::{DomainRule, Secret};
use super::tls::{self, Hello};
use super::{Connection, Verdict};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Connections at once; more wait to be accepted.
const MOST: usize = 64;

/// Connections that are remembered for the report.
const REMEMBERED: usize = 200;

/// How long a client may take to say what it wants, and a server to answer the call.
const PATIENCE: Duration = Duration::from_secs(20);

/// What it lets through, and what it has seen.
#[derive(Debug)]
pub(crate) struct Proxy {
    domains: Vec<DomainRule>,
    secrets: Vec<Secret>,
    dial: Arc<dyn Dial>,
    /// Whether the domains may have addresses that are not public.
    any_address: bool,
    seen: Mutex<Vec<Connection>>,
}

impl Proxy {
    pub(crate) fn new(
        domains: Vec<DomainRule>,
        secrets: Vec<Secret>,
        dial: Arc<dyn Dial>,
    ) -> Arc<Self> {
        Arc::new(Self {
            domains,
            secrets,
            dial,
            any_address: false,
            seen: Mutex::default(),
        })
    }

    /// The same, for domains that the operator has named and that may be internal.
    pub(crate) fn trusting(domains: Vec<DomainRule>, dial: Arc<dyn Dial>) -> Arc<Self> {
        Arc::new(Self {
            domains,
            secrets: Vec::new(),
            dial,
            any_address: true,
            seen: Mutex::default(),
        })
    }

    /// Serves connections for ever; dropped, it ends them all.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut open = JoinSet::new();
        loop {
            while open.try_join_next().is_some() {}
            if open.len() >= MOST {
                open.join_next().await;
            }
            let Ok((client, _)) = listener.accept().await else {
                return;
            };
            let proxy = Arc::clone(&self);
            // A connection that breaks concerns its two ends only.
            open.spawn(async move { proxy.connection(client).await.ok() });
        }
    }

    /// What was asked for, in order.
    pub(crate) fn seen(&self) -> Vec<Connection> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn remember(&self, host: &str, port: u16, verdict: Verdict) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < REMEMBERED {
            seen.push(Connection {
                host: host.to_owned(),
                port,
                verdict,
            });
        }
    }

    async fn connection(&self, mut client: TcpStream) -> io::Result<()> {
        let (asked, rest) = tokio::time::timeout(PATIENCE, read_head(&mut client)).await??;
        match asked {
            Some(Asked::Connect { host, port }) => match self.open(&host, port, 443).await {
                Ok(server) => self.tunnel(client, server, &host, port).await,
                Err(verdict) => self.refuse(client, &host, port, verdict).await,
            },
            Some(Asked::Http {
                host,
                port,
                head,
                body,
            }) => match self.open(&host, port, 80).await {
                Ok(server) => {
                    self.remember(&host, port, Verdict::Allowed);
                    let head = head::reveal(&head, &host, &self.secrets);
                    pass_on(client, server, &head, &rest, body).await
                }
                Err(verdict) => self.refuse(client, &host, port, verdict).await,
            },
            None => self.refuse(client, "", 0, Verdict::BadRequest).await,
        }
    }

    /// Checks a target in every respect and connects to the address that was checked.
    async fn open(&self, host: &str, port: u16, expected: u16) -> Result<TcpStream, Verdict> {
        if !self.domains.iter().any(|rule| rule.covers(host)) {
            return Err(Verdict::NotAllowed);
        }
        if port != expected {
            return Err(Verdict::Port);
        }
        let found = tokio::time::timeout(PATIENCE, self.dial.resolve(host)).await;
        let found = found.ok().and_then(Result::ok).unwrap_or_default();
        let address = *found.first().ok_or(Verdict::Unresolved)?;
        // One bad address among good ones is a trap, not a mistake.
        if !self.any_address && !found.iter().all(|address| is_public(*address)) {
            return Err(Verdict::PrivateAddress);
        }
        let connected = self.dial.connect(SocketAddr::new(address, port));
        let connected = tokio::time::timeout(PATIENCE, connected).await;
        connected
            .ok()
            .and_then(Result::ok)
            .ok_or(Verdict::Unreachable)
    }

    /// Lets TLS for the very name through, and nothing else.
    async fn tunnel(
        &self,
        mut client: TcpStream,
        mut server: TcpStream,
        host: &str,
        port: u16,
    ) -> io::Result<()> {
        client
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
        let hello = tokio::time::timeout(PATIENCE, read_hello(&mut client)).await??;
        let name = tls::server_name(&hello);
        if name != Hello::Name(host.to_owned()) {
            self.remember(host, port, Verdict::OtherName);
            return Ok(());
        }
        self.remember(host, port, Verdict::Allowed);
        server.write_all(&hello).await?;
        copy_bidirectional(&mut client, &mut server).await.map(drop)
    }

    async fn refuse(
        &self,
        mut client: TcpStream,
        host: &str,
        port: u16,
        verdict: Verdict,
    ) -> io::Result<()> {
        self.remember(host, port, verdict);
        let status = match verdict {
            Verdict::BadRequest => "400 Bad Request",
            Verdict::Unresolved | Verdict::Unreachable => "502 Bad Gateway",
            _ => "403 Forbidden",
        };
        let why = format!("The sandbox's proxy refuses {host}:{port}: {verdict:?}\n");
        let head = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            why.len()
        );
        client.write_all((head + &why).as_bytes()).await?;
        client.shutdown().await
    }
}

/// Reads up to the empty line; returns what was asked and the bytes that came after.
async fn read_head(client: &mut TcpStream) -> io::Result<(Option<Asked>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(end + 4);
            return Ok((head::parse(&bytes), rest));
        }
        if bytes.len() > head::LONGEST || client.read_buf(&mut bytes).await? == 0 {
            return Ok((None, Vec::new()));
        }
    }
}

async fn read_hello(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while tls::server_name(&bytes) == Hello::More {
        if bytes.len() > tls::LONGEST || client.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(bytes)
}

/// Sends one request, with exactly its body, and returns all that comes back. A second
/// request on the same connection would be one that nothing has looked at.
async fn pass_on(
    mut client: TcpStream,
    mut server: TcpStream,
    head: &str,
    rest: &[u8],
    body: u64,
) -> io::Result<()> {
    server.write_all(head.as_bytes()).await?;
    let (from_client, to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut to_client = to_client;
    let request = async {
        let mut body_bytes = rest.chain(from_client).take(body);
        tokio::io::copy(&mut body_bytes, &mut to_server).await
    };
    let answer = tokio::io::copy(&mut from_server, &mut to_client);
    tokio::try_join!(request, answer)?;
    to_client.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::super::dial::BoxFuture;
    use super::super::tls::tests::hello;
    use super::*;
    use std::net::IpAddr;

    /// A network in which every name has the addresses it is given, and every address
    /// is the one local server.
    #[derive(Debug)]
    struct Fake {
        addresses: Vec<IpAddr>,
        server: SocketAddr,
    }

    impl Dial for Fake {
        fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            Box::pin(async { Ok(self.addresses.clone()) })
        }

        fn connect(&self, _: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
            Box::pin(TcpStream::connect(self.server))
        }
    }

    struct World {
        proxy: Arc<Proxy>,
        address: SocketAddr,
        server: TcpListener,
    }

    async fn world(addresses: &[&str]) -> World {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let dial = Arc::new(Fake {
            addresses,
            server: server.local_addr().unwrap(),
        });
        let domains = ["good.com", "*.fine.org"]
            .map(|text| text.parse().unwrap())
            .into();
        let secret = Secret {
            stand_in: "STAND-IN".into(),
            value: "s3cret".into(),
            domain: "good.com".parse().unwrap(),
        };
        let proxy = Proxy::new(domains, vec![secret], dial);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(Arc::clone(&proxy).serve(listener));
        World {
            proxy,
            address,
            server,
        }
    }

    impl World {
        /// Says something to the proxy and returns the first line of what it answers.
        async fn ask(&self, text: &str) -> String {
            let mut client = TcpStream::connect(self.address).await.unwrap();
            client.write_all(text.as_bytes()).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer.lines().next().unwrap_or_default().to_owned()
        }

        fn verdicts(&self) -> Vec<Verdict> {
            self.proxy
                .seen()
                .into_iter()
                .map(|one| one.verdict)
                .collect()
        }
    }

    #[tokio::test]
    async fn a_request_reaches_its_server_with_the_secret_and_nothing_after_it() {
        let world = world(&["93.184.216.34"]).await;
        let server = async {
            let (mut stream, _) = world.server.accept().await.unwrap();
            let mut seen = vec![0; 4096];
            let mut length = 0;
            while !seen[..length].ends_with(b"abc") {
                length += stream.read(&mut seen[length..]).await.unwrap();
            }
            stream
                .write_all(b"HTTP/1.1 204 Fine\r\n\r\n")
                .await
                .unwrap();
            String::from_utf8(seen[..length].to_vec()).unwrap()
        };
        let request = "POST http://good.com/p HTTP/1.1\r\nauthorization: Bearer STAND-IN\r\ncontent-length: 3\r\n\r\nabcGET http://evil.com/ HTTP/1.1\r\n\r\n";
        let (seen, answer) = tokio::join!(server, world.ask(request));
        assert_eq!(answer, "HTTP/1.1 204 Fine");
        assert_eq!(
            seen,
            "POST /p HTTP/1.1\r\nhost: good.com\r\nconnection: close\r\nauthorization: Bearer s3cret\r\ncontent-length: 3\r\n\r\nabc"
        );
        assert_eq!(world.verdicts(), [Verdict::Allowed]);
    }

    #[tokio::test]
    async fn other_domains_ports_and_nonsense_are_refused() {
        let world = world(&["93.184.216.34"]).await;
        for (request, status) in [
            (
                "GET http://evil.com/ HTTP/1.1\r\n\r\n",
                "HTTP/1.1 403 Forbidden",
            ),
            (
                "CONNECT evil.com:443 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 403 Forbidden",
            ),
            (
                "CONNECT 93.184.216.34:443 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 403 Forbidden",
            ),
            (
                "CONNECT good.com:22 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 403 Forbidden",
            ),
            (
                "GET http://good.com:8080/ HTTP/1.1\r\n\r\n",
                "HTTP/1.1 403 Forbidden",
            ),
            ("what is this\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        ] {
            assert_eq!(world.ask(request).await, status, "{request}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_the_metadata_service_or_the_host_is_refused() {
        for addresses in [
            &["169.254.169.254"][..],
            &["127.0.0.1"],
            &["::ffff:10.0.0.1"],
            &["93.184.216.34", "127.0.0.1"],
            &[],
        ] {
            let world = world(addresses).await;
            let status = world.ask("GET http://good.com/ HTTP/1.1\r\n\r\n").await;
            let expected = if addresses.is_empty() {
                "502 Bad Gateway"
            } else {
                "403 Forbidden"
            };
            assert_eq!(status, format!("HTTP/1.1 {expected}"), "{addresses:?}");
        }
    }

    #[tokio::test]
    async fn a_tunnel_carries_tls_for_its_own_name_only() {
        for (name, verdict) in [
            ("a.fine.org", Verdict::Allowed),
            ("evil.com", Verdict::OtherName),
        ] {
            let world = world(&["93.184.216.34"]).await;
            let mut client = TcpStream::connect(world.address).await.unwrap();
            client
                .write_all(b"CONNECT a.fine.org:443 HTTP/1.1\r\n\r\n")
                .await
                .unwrap();
            let (mut server, _) = world.server.accept().await.unwrap();
            client.write_all(&hello(name)).await.unwrap();
            client.shutdown().await.unwrap();
            let mut seen = Vec::new();
            server.read_to_end(&mut seen).await.unwrap();
            assert_eq!(
                seen,
                if verdict == Verdict::Allowed {
                    hello(name)
                } else {
                    Vec::new()
                }
            );
            assert_eq!(world.verdicts(), [verdict]);
        }
    }
}
