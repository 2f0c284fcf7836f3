//! TLS with an authority of one's own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prowess_bus::{Bus, NatsSettings};
use prowess_testkit::nats::Nats;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::world::{settle, soon};

fn write_pem(file: &Path, label: &str, content: &[u8]) {
    let content = BASE64_STANDARD.encode(content);
    let text = format!("-----BEGIN {label}-----\n{content}\n-----END {label}-----\n");
    std::fs::write(file, text).unwrap();
}

/// Writes the certificate of a new authority.
fn write_authority(file: &Path) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    write_pem(file, "CERTIFICATE", authority.der());
    authority
}

fn settings(nats: &Nats, authority: Option<PathBuf>) -> NatsSettings {
    let servers = vec![nats.url().replace("nats://", "tls://")];
    let mut settings = NatsSettings::new(servers, "test.in", "test");
    settings.tls_ca = authority;
    settings
}

async fn refuse(nats: &Nats, authority: Option<PathBuf>) {
    let mut settings = settings(nats, authority);
    settings.connect_timeout = Duration::from_millis(300);
    soon(Bus::connect(settings)).await.unwrap_err();
}

#[tokio::test]
async fn only_a_server_that_the_given_authority_vouches_for_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let authority = write_authority(&place("ca.pem"));
    write_authority(&place("other.pem"));
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let leaf = CertificateParams::new(names).unwrap();
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    write_pem(&place("server.pem"), "CERTIFICATE", leaf.der());
    write_pem(&place("server.key"), "PRIVATE KEY", &key.serialize_der());
    let config = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}",
        place("server.pem").display(),
        place("server.key").display()
    );
    let nats = Nats::start_with_config(&config);
    let bus = Bus::connect(settings(&nats, Some(place("ca.pem"))))
        .await
        .unwrap();
    settle(&bus).await;
    for authority in [Some(place("other.pem")), Some(place("missing.pem")), None] {
        refuse(&nats, authority).await;
    }
    refuse(&Nats::start(), Some(place("ca.pem"))).await;
}
