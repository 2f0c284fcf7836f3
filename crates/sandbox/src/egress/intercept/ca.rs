//! The certificate authority of one command, and the certificates it signs.

use crate::egress::authority::HostName;
use crate::error::{Error, ErrorContext};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Cached certificates; a rule with a wildcard can match any number of hosts.
const MAX_KEPT_HOSTS: usize = 64;

/// Tolerated clock difference.
const CLOCK_SKEW: Duration = Duration::from_secs(60 * 60);

/// Validity of certificates, longer than any command runs.
const VALIDITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A certificate authority that exists only in memory.
pub(super) struct CommandCa {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The key of all certificates it signs.
    leaf_key: KeyPair,
    kept: Mutex<HashMap<HostName, Arc<ServerConfig>>>,
}

impl fmt::Debug for CommandCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandCa").finish_non_exhaustive()
    }
}

impl CommandCa {
    pub(super) fn generate() -> Result<Self, Error> {
        certificate_result(Self::try_generate())
    }

    fn try_generate() -> Result<Self, rcgen::Error> {
        let mut params = certificate_params("Prowess sandbox, this command only");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
            leaf_key: KeyPair::generate()?,
            kept: Mutex::default(),
        })
    }

    pub(super) fn certificate(&self) -> &CertificateDer<'static> {
        self.issuer.der()
    }

    /// The TLS configuration for serving this name.
    pub(super) fn server_config(&self, host: &HostName) -> Result<Arc<ServerConfig>, Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = kept.get(host) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(self.make_config(host)?);
        if kept.len() < MAX_KEPT_HOSTS {
            kept.insert(host.clone(), Arc::clone(&config));
        }
        Ok(config)
    }

    fn make_config(&self, host: &HostName) -> Result<ServerConfig, Error> {
        let leaf = certificate_result(self.sign(host))?;
        let key = PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map(|config| config.with_no_client_auth())
            .and_then(|config| config.with_single_cert(vec![leaf], PrivateKeyDer::from(key)));
        let mut config = certificate_result(config)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Every connection has its own full handshake.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn sign(&self, host: &HostName) -> Result<CertificateDer<'static>, rcgen::Error> {
        let mut params = certificate_params("Prowess sandbox");
        let name = host.to_string().try_into()?;
        params.subject_alt_names = vec![SanType::DnsName(name)];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let leaf = params.signed_by(&self.leaf_key, &self.issuer)?;
        Ok(leaf.der().clone())
    }
}

fn certificate_params(common_name: &str) -> CertificateParams {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.not_before = (now - CLOCK_SKEW).into();
    params.not_after = (now + VALIDITY).into();
    params.distinguished_name = name;
    params
}

fn certificate_result<T, E: std::error::Error + Send + Sync + 'static>(
    result: Result<T, E>,
) -> Result<T, Error> {
    result
        .map_err(io::Error::other)
        .context("cannot create the proxy's certificates")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_kept_for_a_bounded_number_of_hosts() {
        let ca = CommandCa::generate().unwrap();
        let host = |n: usize| HostName::parse(&format!("h{n}.test")).unwrap();
        for n in 0..MAX_KEPT_HOSTS + 3 {
            ca.server_config(&host(n)).unwrap();
        }
        assert_eq!(ca.kept.lock().unwrap().len(), MAX_KEPT_HOSTS);
        let first = ca.server_config(&host(0)).unwrap();
        assert!(Arc::ptr_eq(&first, &ca.server_config(&host(0)).unwrap()));
    }

    #[test]
    fn every_command_has_an_authority_of_its_own() {
        let [one, other] = [(); 2].map(|()| CommandCa::generate().unwrap());
        assert_ne!(one.certificate(), other.certificate());
        assert_eq!(format!("{one:?}"), "CommandCa { .. }");
    }
}
