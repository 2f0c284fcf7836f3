//! TLS with real servers: certificates are checked with the system's roots and those that
//! the operator adds.

use crate::egress::authority::HostName;
use crate::error::{Error, ErrorContext};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Why TLS with a server failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UpstreamError {
    /// Its certificate is not valid for its name.
    Certificate(String),
    /// The handshake failed, or the server closed the connection.
    Handshake(String),
}

/// A client of real servers.
#[derive(Debug)]
pub(super) struct UpstreamTls {
    extra_roots: Vec<CertificateDer<'static>>,
    /// Created on first use, because it reads all of the system's certificates.
    config: OnceCell<Arc<ClientConfig>>,
}

impl UpstreamTls {
    /// Reads the operator's certificates, so that errors are reported at startup.
    pub(super) fn new(extra_ca: Option<&Path>) -> Result<Self, Error> {
        let extra_roots = match extra_ca {
            Some(file) => read_roots(file).context(format_args!(
                "cannot read the certificates in {}",
                file.display()
            ))?,
            None => Vec::new(),
        };
        Ok(Self {
            extra_roots,
            config: OnceCell::new(),
        })
    }

    pub(super) async fn connect(
        &self,
        host: &HostName,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, UpstreamError> {
        let name = ServerName::try_from(host.to_string());
        let name = name.map_err(|error| UpstreamError::Certificate(error.to_string()))?;
        let config = self.config.get_or_try_init(|| self.make_config()).await;
        let config = config.map_err(|error| UpstreamError::Handshake(error.to_string()))?;
        let connector = TlsConnector::from(Arc::clone(config));
        connector
            .connect(name, stream)
            .await
            .map_err(classify_error)
    }

    async fn make_config(&self) -> io::Result<Arc<ClientConfig>> {
        let extra_roots = self.extra_roots.clone();
        tokio::task::spawn_blocking(move || client_config(extra_roots))
            .await
            .map_err(io::Error::other)?
            .map(Arc::new)
            .map_err(io::Error::other)
    }
}

fn client_config(extra_roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra_roots, Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // TLS sessions of one tenant are not resumed by another.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn read_roots(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let found: Vec<_> = found.map_err(|error| bad(error.to_string()))?;
    if found.is_empty() {
        return Err(bad("it holds no certificate in PEM form".into()));
    }
    let mut store = RootCertStore::empty();
    for certificate in &found {
        let added = store.add(certificate.clone());
        added.map_err(|error| bad(error.to_string()))?;
    }
    Ok(found)
}

fn classify_error(error: io::Error) -> UpstreamError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => UpstreamError::Certificate(why.to_string()),
        Some(other) => UpstreamError::Handshake(other.to_string()),
        None => UpstreamError::Handshake(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for text in [
            "",
            "nonsense",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(UpstreamTls::new(Some(&file)).is_err(), "{text:?}");
        }
        assert!(UpstreamTls::new(Some(&folder.path().join("none"))).is_err());
        assert!(UpstreamTls::new(None).is_ok());
    }
}
