//! Any bytes as the first record of a TLS client: a server name that is found is in the
//! bytes, and stays the same when more bytes follow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_sandbox::egress::inspect::server_name;

fuzz_target!(|bytes: &[u8]| {
    let Some(name) = server_name(bytes) else {
        return;
    };
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    assert!(!name.is_empty() && name.chars().all(fine));
    let lower = bytes.to_ascii_lowercase();
    assert!(
        lower
            .windows(name.len())
            .any(|part| part == name.as_bytes())
    );
    let more = [bytes, b"\x17\x03\x03\x00\x01x"].concat();
    assert_eq!(server_name(&more).as_deref(), Some(name.as_str()));
    // The whole record is required.
    let length = 5 + usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
    assert_eq!(server_name(&bytes[..length - 1]), None);
});
