//! The proxy of one command: takes connections until it is dropped.

mod opened;
mod relay;
mod retry;
mod share;
#[cfg(test)]
mod tests;
mod tunnel;

pub(crate) use share::{Share, Shares};

use crate::egress::address::is_public;
use crate::egress::authority::Authority;
use crate::egress::dial::Dial;
use crate::egress::head::{self, Forward, HTTP_PORT, HTTPS_PORT, Request};
use crate::egress::intercept::{Opening, Trust};
use crate::egress::rules::{DomainRule, Secret};
use crate::egress::{Connection, Verdict};
use relay::{Sent, exchange, read_head};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Connections that are remembered for the report.
const MAX_REMEMBERED: usize = 200;

/// Longest reason that is told and remembered.
const MAX_REASON_CHARS: usize = 300;

/// How long to wait after a connection could not be accepted: descriptors are short for
/// a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Each step before bytes are passed on: a head, a name's addresses, a connection, a
    /// handshake.
    pub(crate) step: Duration,
    /// Between bytes, in whichever direction.
    pub(crate) idle: Duration,
    /// The same once the client has closed its side, and most likely is gone.
    pub(crate) half_closed: Duration,
    /// A connection as a whole.
    pub(crate) total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            half_closed: Duration::from_secs(30),
            total: Duration::from_secs(60 * 60),
        }
    }
}

/// What it lets through, and what it has seen.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(super) domains: Vec<DomainRule>,
    pub(super) secrets: Vec<Secret>,
    pub(super) dial: Arc<dyn Dial>,
    /// Whether the domains may have addresses that are not public.
    pub(super) any_address: bool,
    /// How TLS is opened for hosts with a secret, if it is.
    pub(super) opening: Option<Opening>,
    pub(super) share: Share,
    pub(super) timeouts: Timeouts,
    pub(super) seen: Mutex<Vec<Connection>>,
}

/// Why something is not let through.
struct Refusal {
    verdict: Verdict,
    /// More than the verdict says.
    reason: Option<String>,
}

impl Refusal {
    /// With a reason, of which others may have written a part: in one line, and cut.
    fn new(verdict: Verdict, reason: &str) -> Self {
        let reason = reason.chars().filter(|c| !c.is_control());
        Self {
            verdict,
            reason: Some(reason.take(MAX_REASON_CHARS).collect()),
        }
    }
}

impl From<Verdict> for Refusal {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: None,
        }
    }
}

impl From<head::Malformed> for Refusal {
    fn from(head::Malformed(why): head::Malformed) -> Self {
        Self::new(Verdict::BadRequest, why)
    }
}

impl Proxy {
    /// What the command must be given to trust this proxy, if it opens TLS.
    pub(crate) fn trust(&self) -> Option<Trust> {
        self.opening.as_ref().map(Opening::trust)
    }

    /// Serves connections for ever; dropped, it ends them all.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut open = JoinSet::new();
        loop {
            while open.try_join_next().is_some() {}
            if open.len() >= share::MAX_PER_COMMAND {
                open.join_next().await;
            }
            let Ok((client, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let Some(permit) = self.share.take().await else {
                return;
            };
            let proxy = Arc::clone(&self);
            open.spawn(async move {
                // A connection that breaks concerns its two ends only.
                let _ = proxy.connection(client).await;
                drop(permit);
            });
        }
    }

    /// What was asked for, in order.
    pub(crate) fn seen(&self) -> Vec<Connection> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn remember(&self, to: Option<&Authority>, refusal: Refusal) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MAX_REMEMBERED {
            seen.push(Connection {
                host: to.map(|to| to.host.to_string()).unwrap_or_default(),
                port: to.map_or(0, |to| to.port),
                verdict: refusal.verdict,
                reason: refusal.reason,
            });
        }
    }

    async fn connection(&self, mut client: TcpStream) -> io::Result<()> {
        let Some((head, rest)) = self.step(read_head(&mut client)).await? else {
            let refusal = head::Malformed("the head is too long, or does not end").into();
            return self.refuse(&mut client, None, refusal).await;
        };
        match head::parse_proxy_request(&head) {
            Ok(Request::Connect(to)) => match self.open(&to, HTTPS_PORT).await {
                Ok(server) => self.connect(client, server, to, rest).await,
                Err(verdict) => self.refuse(&mut client, Some(&to), verdict.into()).await,
            },
            Ok(Request::Forward(request)) => match self.open(&request.to, HTTP_PORT).await {
                Ok(server) => self.forward(client, server, &request, &rest).await,
                Err(verdict) => {
                    let to = Some(&request.to);
                    self.refuse(&mut client, to, verdict.into()).await
                }
            },
            Err(malformed) => self.refuse(&mut client, None, malformed.into()).await,
        }
    }

    /// Something that must be done soon.
    async fn step<T>(&self, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        tokio::time::timeout(self.timeouts.step, work).await?
    }

    /// Checks a target in every respect and connects to the address that was checked.
    async fn open(&self, to: &Authority, expected_port: u16) -> Result<TcpStream, Verdict> {
        let host = to.host.as_str();
        if !self.domains.iter().any(|rule| rule.covers(host)) {
            return Err(Verdict::NotAllowed);
        }
        if to.port != expected_port {
            return Err(Verdict::Port);
        }
        let found = self.step(self.dial.resolve(host)).await.unwrap_or_default();
        let address = *found.first().ok_or(Verdict::Unresolved)?;
        // A private address among public ones is how rebinding begins: refuse the name.
        if !self.any_address && !found.iter().all(|address| is_public(*address)) {
            return Err(Verdict::PrivateAddress);
        }
        let connected = self.dial.connect(SocketAddr::new(address, to.port));
        self.step(connected).await.map_err(|_| Verdict::Unreachable)
    }

    /// Passes on one request that was checked, with the secrets for its host.
    async fn forward(
        &self,
        mut client: impl AsyncRead + AsyncWrite + Unpin,
        server: impl AsyncRead + AsyncWrite,
        request: &Forward,
        rest: &[u8],
    ) -> io::Result<()> {
        let head = match request.render(&self.secrets) {
            Ok(head) => head,
            Err(malformed) => {
                let to = Some(&request.to);
                return self.refuse(&mut client, to, malformed.into()).await;
            }
        };
        self.remember(Some(&request.to), Verdict::Allowed.into());
        let sent = Sent {
            head: &head,
            rest,
            body_bytes: request.body_bytes(),
        };
        exchange(client, server, sent, &self.timeouts).await
    }

    async fn refuse(
        &self,
        client: &mut (impl AsyncRead + AsyncWrite + Unpin),
        to: Option<&Authority>,
        refusal: Refusal,
    ) -> io::Result<()> {
        let status = match refusal.verdict {
            Verdict::BadRequest => "400 Bad Request",
            Verdict::Unresolved | Verdict::Unreachable | Verdict::BadCertificate => {
                "502 Bad Gateway"
            }
            _ => "403 Forbidden",
        };
        let what = match to {
            Some(to) => format!("{}:{}", to.host, to.port),
            None => "this request".to_owned(),
        };
        let reason = refusal.reason.as_deref();
        let why = reason.unwrap_or_else(|| refusal.verdict.explain());
        let text = format!("The sandbox's proxy refuses {what}: {why}\n");
        self.remember(to, refusal);
        self.step(relay::answer(client, status, &text)).await
    }
}
