//! Names of gateways and workers that have none: the host's, so that people know where they are,
//! and a random text, because several may run on one host.

use std::fmt::Write as _;

/// Bytes of the host's name that are used.
const MAX_HOST_BYTES: usize = 40;
const RANDOM_BYTES: usize = 4;

/// A new name.
pub(super) fn new_name() -> String {
    let mut name = host_part(&host_name());
    name.push('-');
    let mut random = [0; RANDOM_BYTES];
    if getrandom::fill(&mut random).is_err() {
        random = std::process::id().to_le_bytes();
    }
    for byte in random {
        // Writing into a text does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The characters of a host's name that may be in a subject.
fn host_part(host: &str) -> String {
    let host = host.split('.').next().unwrap_or_default();
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
    let part: String = host
        .chars()
        .filter(is_allowed)
        .take(MAX_HOST_BYTES)
        .collect();
    if part.is_empty() {
        return "host".to_owned();
    }
    part
}

#[cfg(unix)]
fn host_name() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_parts_of_subjects_and_differ() {
        let (one, other) = (new_name(), new_name());
        prowess_bus::subject::token(&one).unwrap();
        assert_ne!(one, other);
        assert_eq!(host_part("node-1.example.com"), "node-1");
        assert_eq!(host_part("bücher"), "bcher");
        assert_eq!(host_part(""), "host");
        assert_eq!(host_part(&"a".repeat(99)).len(), MAX_HOST_BYTES);
    }
}
