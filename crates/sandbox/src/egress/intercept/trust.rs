//! What a command is given so that its programs trust the proxy that opens their TLS: a
//! file of certificates, and the variables that name it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prowess_launcher::spec::FILES_DIR;
use rustls::pki_types::CertificateDer;
use std::io::Read;
use std::path::Path;

/// The file's name in [`FILES_DIR`].
const FILE_NAME: &str = "ca.pem";

/// Variables by which programs find the certificates they trust: OpenSSL and Python,
/// Python's requests, curl, Node.js, pip, git and the AWS tools.
const VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
];

/// Where a root file system keeps all certificates it trusts in one file.
const RUNTIME_BUNDLES: [&str; 3] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/cert.pem",
];

/// Most that is read of such a file.
const MAX_BUNDLE_BYTES: u64 = 4 << 20;

/// Characters on a line of PEM.
const PEM_LINE_CHARACTERS: usize = 64;

/// The file and the variables.
#[derive(Debug)]
pub(crate) struct Trust {
    text: String,
}

impl Trust {
    /// Trusts what the root file system trusts, and this certificate.
    pub(super) fn new(roots: &str, certificate: &CertificateDer<'_>) -> Self {
        let newline = if roots.is_empty() || roots.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let text = format!("{roots}{newline}{}", pem(certificate));
        Self { text }
    }

    /// The file, as path inside and text.
    pub(crate) fn into_file(self) -> (String, String) {
        (path_inside(), self.text)
    }

    /// Adds the variables to those of a command, unless it has its own.
    pub(crate) fn add_variables(env: &mut Vec<(String, String)>) {
        for variable in VARIABLES {
            if !env.iter().any(|(name, _)| name == variable) {
                env.push((variable.to_owned(), path_inside()));
            }
        }
    }
}

fn path_inside() -> String {
    format!("{FILES_DIR}/{FILE_NAME}")
}

/// The certificates that a root file system trusts; nothing if it has no such file.
pub(super) fn read_runtime_roots(runtime: &Path) -> String {
    let read = |name: &&str| {
        let file = std::fs::File::open(runtime.join(name)).ok()?;
        let mut text = String::new();
        let mut file = file.take(MAX_BUNDLE_BYTES);
        file.read_to_string(&mut text).ok().map(|_| text)
    };
    RUNTIME_BUNDLES.iter().find_map(read).unwrap_or_default()
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let body = BASE64_STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----");
    for (place, character) in body.chars().enumerate() {
        if place % PEM_LINE_CHARACTERS == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text + "\n-----END CERTIFICATE-----\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn the_file_holds_the_roots_and_the_certificate() {
        let (old, new) = (vec![7; 100], vec![9; 147]);
        let roots = pem(&old.clone().into());
        for roots in [roots.trim_end(), &roots] {
            let trust = Trust::new(roots, &new.clone().into());
            let (path, text) = trust.into_file();
            assert_eq!(path, "/etc/prowess/ca.pem");
            let found = CertificateDer::pem_slice_iter(text.as_bytes());
            let found: Vec<_> = found.map(|one| one.unwrap().to_vec()).collect();
            assert_eq!(found, [old.clone(), new.clone()]);
        }
    }

    #[test]
    fn a_variable_of_the_command_wins() {
        let mut env = vec![("SSL_CERT_FILE".to_owned(), "/own".to_owned())];
        Trust::add_variables(&mut env);
        assert_eq!(env.len(), VARIABLES.len());
        assert_eq!(env[0].1, "/own");
    }
}
