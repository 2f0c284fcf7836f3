//! A TLS connection that is intercepted because a secret may have to be inserted.

use super::relay::read_head;
use super::{Proxy, ProxyRefusal};
use crate::egress::Verdict;
use crate::egress::authority::Authority;
use crate::egress::head;
use crate::egress::intercept::{CommandInterception, UpstreamError};
use rustls::AlertDescription;
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

impl Proxy {
    /// Acts as server to the command and as client to the server. Nothing is sent to a
    /// server whose certificate is not valid for its name.
    pub(super) async fn serve_intercepted(
        &self,
        interception: &CommandInterception,
        client: TcpStream,
        hello: Vec<u8>,
        server: TcpStream,
        to: &Authority,
    ) -> io::Result<()> {
        let server =
            self.with_step_timeout(async { Ok(interception.connect(&to.host, server).await) });
        let server = match server.await {
            Ok(server) => server,
            Err(_) => Err(UpstreamError::Handshake("the server takes too long".into())),
        };
        let config = interception
            .server_config(&to.host)
            .map_err(io::Error::other)?;
        let (from_client, to_client) = client.into_split();
        let client = tokio::io::join(io::Cursor::new(hello).chain(from_client), to_client);
        let accepted = TlsAcceptor::from(config).accept(client);
        let mut client = match self.with_step_timeout(accepted).await {
            Ok(client) => client,
            Err(error) => {
                self.record(Some(to), refusal_for_handshake(&error));
                return Err(error);
            }
        };
        let server = match server {
            Ok(server) => server,
            Err(error) => return self.refuse(&mut client, Some(to), error.into()).await,
        };
        let Some((head, rest)) = self.with_step_timeout(read_head(&mut client)).await? else {
            let refusal = head::MalformedRequest("the head is too long or incomplete").into();
            return self.refuse(&mut client, Some(to), refusal).await;
        };
        match head::parse_origin_request(&head, to) {
            Ok(request) => self.forward(client, server, &request, &rest).await,
            Err(malformed) => self.refuse(&mut client, Some(to), malformed.into()).await,
        }
    }
}

/// The refusal for a handshake that the client did not complete.
fn refusal_for_handshake(error: &io::Error) -> ProxyRefusal {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let (verdict, why) = match inner {
        Some(rustls::Error::AlertReceived(alert)) if is_about_certificate(*alert) => {
            let why = "the client does not accept the proxy's certificate";
            (Verdict::NotTrusted, why)
        }
        _ => {
            let why = "the TLS handshake of the client with the proxy failed";
            (Verdict::Handshake, why)
        }
    };
    ProxyRefusal::new(verdict, &format!("{why}: {error}"))
}

fn is_about_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::BadCertificateStatusResponse
    )
}

impl From<UpstreamError> for ProxyRefusal {
    fn from(error: UpstreamError) -> Self {
        let (verdict, reason) = match error {
            UpstreamError::Certificate(why) => (
                Verdict::BadCertificate,
                format!("the server's certificate is not valid for this name: {why}"),
            ),
            UpstreamError::Handshake(why) => (
                Verdict::Unreachable,
                format!("no TLS connection with the server: {why}"),
            ),
        };
        Self::new(verdict, &reason)
    }
}

#[cfg(test)]
mod tests;
