//! The proxy of one execution: takes connections until it is dropped.

mod passing;
#[cfg(test)]
mod tests;

use crate::egress::address::is_public;
use crate::egress::dial::Dial;
use crate::egress::head::{self, Asked};
use crate::egress::rules::{DomainRule, Secret};
use crate::egress::tls::{self, Hello};
use crate::egress::{Connection, Verdict};
use passing::{pass_on, read_head, read_hello};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
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
