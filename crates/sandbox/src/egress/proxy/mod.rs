//! The proxy of one command: accepts connections until it is dropped.

mod intercepted;
mod relay;
mod retry;
mod share;
#[cfg(test)]
mod tests;
mod tunnel;

pub(crate) use share::{ConnectionShare, ConnectionShares};

use crate::egress::address::is_public;
use crate::egress::authority::Authority;
use crate::egress::dial::Dial;
use crate::egress::head::{self, ForwardRequest, HTTP_PORT, HTTPS_PORT, ProxyRequest};
use crate::egress::intercept::{CommandInterception, TrustBundle};
use crate::egress::rules::{DomainRule, EgressSecret};
use crate::egress::{EgressConnection, Verdict};
use relay::{OutgoingRequest, exchange, read_head};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Maximum connections in the report.
const MAX_RECORDED: usize = 200;

/// Maximum length of a reason.
const MAX_REASON_CHARS: usize = 300;

/// How long to wait after a connection could not be accepted, usually because no
/// descriptors are free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProxyTimeouts {
    /// Each step before bytes are forwarded: reading a head, resolving, connecting, a
    /// handshake.
    pub(crate) step: Duration,
    /// Between bytes, in either direction.
    pub(crate) idle: Duration,
    /// The same once the client has closed its side.
    pub(crate) half_closed: Duration,
    /// The whole connection.
    pub(crate) total: Duration,
}

impl Default for ProxyTimeouts {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            half_closed: Duration::from_secs(30),
            total: Duration::from_secs(60 * 60),
        }
    }
}

/// The rules of the proxy and the connections it has recorded.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(super) domains: Vec<DomainRule>,
    pub(super) secrets: Vec<EgressSecret>,
    pub(super) dial: Arc<dyn Dial>,
    /// Whether the domains may have addresses that are not public.
    pub(super) allow_any_address: bool,
    /// Intercepts TLS to hosts with a secret, if enabled.
    pub(super) interception: Option<CommandInterception>,
    pub(super) share: ConnectionShare,
    pub(super) timeouts: ProxyTimeouts,
    pub(super) connections: Mutex<Vec<EgressConnection>>,
}

/// Why a request is refused.
struct ProxyRefusal {
    verdict: Verdict,
    /// Details in addition to the verdict.
    reason: Option<String>,
}

impl ProxyRefusal {
    /// With a reason that may contain untrusted text: control characters are removed and the
    /// length is limited.
    fn new(verdict: Verdict, reason: &str) -> Self {
        let reason = reason.chars().filter(|c| !c.is_control());
        Self {
            verdict,
            reason: Some(reason.take(MAX_REASON_CHARS).collect()),
        }
    }
}

impl From<Verdict> for ProxyRefusal {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            reason: None,
        }
    }
}

impl From<head::MalformedRequest> for ProxyRefusal {
    fn from(head::MalformedRequest(why): head::MalformedRequest) -> Self {
        Self::new(Verdict::BadRequest, why)
    }
}

impl Proxy {
    /// The certificates that the command needs to trust this proxy, if it intercepts TLS.
    pub(crate) fn trust(&self) -> Option<TrustBundle> {
        self.interception.as_ref().map(CommandInterception::trust)
    }

    /// Serves connections until dropped, which ends them all.
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
            let Some(permit) = self.share.acquire().await else {
                return;
            };
            let proxy = Arc::clone(&self);
            open.spawn(async move {
                // An error affects only this connection.
                let _ = proxy.serve_connection(client).await;
                drop(permit);
            });
        }
    }

    /// The requested connections, in order.
    pub(crate) fn connections(&self) -> Vec<EgressConnection> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn record(&self, to: Option<&Authority>, refusal: ProxyRefusal) {
        let mut seen = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if seen.len() < MAX_RECORDED {
            seen.push(EgressConnection {
                host: to.map(|to| to.host.to_string()).unwrap_or_default(),
                port: to.map_or(0, |to| to.port),
                verdict: refusal.verdict,
                reason: refusal.reason,
            });
        }
    }

    async fn serve_connection(&self, mut client: TcpStream) -> io::Result<()> {
        let Some((head, rest)) = self.with_step_timeout(read_head(&mut client)).await? else {
            let refusal = head::MalformedRequest("the head is too long or incomplete").into();
            return self.refuse(&mut client, None, refusal).await;
        };
        match head::parse_proxy_request(&head) {
            Ok(ProxyRequest::Connect(to)) => match self.dial_checked(&to, HTTPS_PORT).await {
                Ok(server) => self.connect(client, server, to, rest).await,
                Err(verdict) => self.refuse(&mut client, Some(&to), verdict.into()).await,
            },
            Ok(ProxyRequest::Forward(request)) => {
                match self.dial_checked(&request.to, HTTP_PORT).await {
                    Ok(server) => self.forward(client, server, &request, &rest).await,
                    Err(verdict) => {
                        let to = Some(&request.to);
                        self.refuse(&mut client, to, verdict.into()).await
                    }
                }
            }
            Err(malformed) => self.refuse(&mut client, None, malformed.into()).await,
        }
    }

    /// Limits a step by the step timeout.
    async fn with_step_timeout<T>(
        &self,
        work: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        tokio::time::timeout(self.timeouts.step, work).await?
    }

    /// Checks a target's domain, port and addresses, and connects to the checked address.
    async fn dial_checked(&self, to: &Authority, expected_port: u16) -> Result<TcpStream, Verdict> {
        let host = to.host.as_str();
        if !self.domains.iter().any(|rule| rule.covers(host)) {
            return Err(Verdict::NotAllowed);
        }
        if to.port != expected_port {
            return Err(Verdict::Port);
        }
        let found = self
            .with_step_timeout(self.dial.resolve(host))
            .await
            .unwrap_or_default();
        let address = *found.first().ok_or(Verdict::Unresolved)?;
        // A private address among public ones indicates DNS rebinding: refuse the name.
        if !self.allow_any_address && !found.iter().all(|address| is_public(*address)) {
            return Err(Verdict::PrivateAddress);
        }
        let connected = self.dial.connect(SocketAddr::new(address, to.port));
        self.with_step_timeout(connected)
            .await
            .map_err(|_| Verdict::Unreachable)
    }

    /// Forwards one checked request, with the secrets for its host.
    async fn forward(
        &self,
        mut client: impl AsyncRead + AsyncWrite + Unpin,
        server: impl AsyncRead + AsyncWrite,
        request: &ForwardRequest,
        rest: &[u8],
    ) -> io::Result<()> {
        let head = match request.render(&self.secrets) {
            Ok(head) => head,
            Err(malformed) => {
                let to = Some(&request.to);
                return self.refuse(&mut client, to, malformed.into()).await;
            }
        };
        self.record(Some(&request.to), Verdict::Allowed.into());
        let sent = OutgoingRequest {
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
        refusal: ProxyRefusal,
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
        self.record(to, refusal);
        self.with_step_timeout(relay::respond_and_close(client, status, &text))
            .await
    }
}
