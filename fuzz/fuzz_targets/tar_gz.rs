//! Any bytes as a tar in a sound gzip, and as a gzip themselves.
#![no_main]

use flate2::Crc;
use libfuzzer_sys::fuzz_target;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Ok(length) = u16::try_from(bytes.len()) {
        check(&gzip(bytes, length));
    }
});

/// One stored block: compressing each input would take most of the time.
fn gzip(bytes: &[u8], length: u16) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(bytes);
    let mut gz = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    gz.extend(length.to_le_bytes());
    gz.extend((!length).to_le_bytes());
    gz.extend(bytes);
    gz.extend(crc.sum().to_le_bytes());
    gz.extend(u32::from(length).to_le_bytes());
    gz
}

fn check(gz: &[u8]) {
    let limits = BundleLimits {
        total_bytes: 1 << 20,
        file_bytes: 1 << 19,
        ..BundleLimits::default()
    };
    let Ok(bundle) = Bundle::from_tar_gz(gz, &limits) else {
        return;
    };
    assert!(bundle.total_bytes() <= limits.total_bytes);
    assert!(bundle.len() <= limits.files);
    let packed = bundle.to_tar_gz(&ArchiveLayout::FLAT).unwrap();
    let again = Bundle::from_tar_gz(&packed, &limits).unwrap();
    assert!(again.files().eq(bundle.files()));
}
