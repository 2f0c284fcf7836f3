//! A file of certificates, and the variables that name it, so that a command's programs
//! trust the proxy that intercepts their TLS.

use crate::beneath::{self, PathLinks};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prowess_launcher::LAYOUT;
use rustix::fs::{CWD, Mode, OFlags};
use rustls::pki_types::CertificateDer;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The file's name in the layout's `files` folder.
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

/// Files in which root file systems have all trusted certificates.
const BUNDLES: [&str; 5] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/ca-bundle.pem",
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "etc/ssl/cert.pem",
];

/// The root of the server itself.
const SERVER_ROOT: &str = "/";

/// Maximum attempts to open a file while folders on its path are being moved.
const MAX_OPEN_TRIES: usize = 8;

/// First line of a certificate.
const PEM_BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// Maximum size of such a file; a truncated one would end in a broken certificate.
const MAX_BUNDLE_BYTES: u64 = 4 << 20;

/// Characters on a line of PEM.
const PEM_LINE_CHARACTERS: usize = 64;

/// The file and the variables.
#[derive(Debug)]
pub(crate) struct TrustBundle {
    text: String,
}

impl TrustBundle {
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
    format!("{}/{FILE_NAME}", LAYOUT.files)
}

/// The certificates that a root file system trusts, or the server's own if it has none:
/// programs inside must be able to check hosts whose TLS is not intercepted.
pub(super) fn read_runtime_roots(runtime: &Path) -> String {
    let roots = [runtime, Path::new(SERVER_ROOT)];
    roots.into_iter().find_map(read_roots).unwrap_or_default()
}

/// The first file of certificates beneath a root.
fn read_roots(root: &Path) -> Option<String> {
    let flags = beneath::PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, flags, Mode::empty()).ok()?;
    let read = |name: &&str| {
        let file = open_beneath(&root, name)?;
        let mut text = String::new();
        let mut file = file.take(MAX_BUNDLE_BYTES + 1);
        file.read_to_string(&mut text).ok()?;
        let is_whole = text.len() as u64 <= MAX_BUNDLE_BYTES;
        (is_whole && text.contains(PEM_BEGIN)).then_some(text)
    };
    BUNDLES.iter().find_map(read)
}

/// Opens a regular file as a program with this root would: links, also absolute ones, do
/// not lead outside.
fn open_beneath(root: &impl rustix::fd::AsFd, name: &str) -> Option<File> {
    // Opening something other than a file must not block.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = || beneath::open(root, name, flags, Mode::empty(), PathLinks::AsRoot);
    let is_final = |opened: &Result<_, _>| !matches!(opened, Err(rustix::io::Errno::AGAIN));
    let opened = std::iter::repeat_with(open).take(MAX_OPEN_TRIES);
    let file = File::from(opened.into_iter().find(is_final)?.ok()?);
    let is_file = file.metadata().is_ok_and(|known| known.is_file());
    is_file.then_some(file)
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let body = BASE64_STANDARD.encode(certificate);
    let mut text = String::from(PEM_BEGIN);
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
            let trust = TrustBundle::new(roots, &new.clone().into());
            let (path, text) = trust.into_file();
            assert_eq!(path, "/etc/prowess/ca.pem");
            let found = CertificateDer::pem_slice_iter(text.as_bytes());
            let found: Vec<_> = found.map(|one| one.unwrap().to_vec()).collect();
            assert_eq!(found, [old.clone(), new.clone()]);
        }
    }

    /// A root file system with one file of certificates, or a link.
    struct Root(tempfile::TempDir);

    impl Root {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn place(&self, name: &str) -> std::path::PathBuf {
            let place = self.0.path().join(name);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            place
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.place(name), text).unwrap();
        }

        fn link(&self, name: &str, to: &str) {
            std::os::unix::fs::symlink(to, self.place(name)).unwrap();
        }

        fn read(&self) -> Option<String> {
            read_roots(self.0.path())
        }
    }

    #[test]
    fn the_certificates_of_a_root_are_found_wherever_it_keeps_them() {
        let text = pem(&vec![7; 100].into());
        for name in BUNDLES {
            let root = Root::new();
            root.write(name, &text);
            assert_eq!(root.read().as_deref(), Some(&*text), "{name}");
        }
    }

    #[test]
    fn links_of_a_root_stay_in_it() {
        let (text, other) = (pem(&vec![7; 100].into()), pem(&vec![9; 100].into()));
        let outside = Root::new();
        outside.write("other.pem", &other);
        let outside = outside.0.path().join("other.pem");
        let depth = "../".repeat(40);
        for target in [
            outside.to_str().unwrap(),
            &format!("{depth}{}", outside.display()),
            "/proc/self/exe",
        ] {
            let root = Root::new();
            root.link(BUNDLES[0], target);
            assert_eq!(root.read(), None, "{target}");
            // The next place counts then.
            root.write(BUNDLES[4], &text);
            assert_eq!(root.read().as_deref(), Some(&*text), "{target}");
        }
        // A link that is absolute is from this root.
        let root = Root::new();
        root.link(BUNDLES[1], "/etc/pki/ca-trust/certificates.pem");
        root.write("etc/pki/ca-trust/certificates.pem", &text);
        assert_eq!(root.read().as_deref(), Some(&*text));
    }

    #[test]
    fn what_holds_no_certificates_or_too_much_is_passed_over() {
        let text = pem(&vec![7; 100].into());
        let root = Root::new();
        root.write(BUNDLES[0], "");
        let size = usize::try_from(MAX_BUNDLE_BYTES).unwrap();
        root.write(BUNDLES[1], &text.repeat(size / text.len() + 1));
        std::fs::create_dir_all(root.place(BUNDLES[2])).unwrap();
        assert_eq!(root.read(), None);
        root.write(BUNDLES[3], &text);
        assert_eq!(root.read().as_deref(), Some(&*text));
    }

    #[test]
    fn a_root_without_certificates_has_those_of_the_server() {
        let own = read_roots(Path::new(SERVER_ROOT)).unwrap_or_default();
        assert_eq!(read_runtime_roots(Root::new().0.path()), own);
        let (root, text) = (Root::new(), pem(&vec![7; 100].into()));
        root.write(BUNDLES[2], &text);
        assert_eq!(read_runtime_roots(root.0.path()), text);
    }

    #[test]
    fn a_variable_of_the_command_wins() {
        let mut env = vec![("SSL_CERT_FILE".to_owned(), "/own".to_owned())];
        TrustBundle::add_variables(&mut env);
        assert_eq!(env.len(), VARIABLES.len());
        assert_eq!(env[0].1, "/own");
    }
}
