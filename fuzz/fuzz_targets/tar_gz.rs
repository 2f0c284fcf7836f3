//! Any bytes as a tar in a sound gzip, and as a gzip themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_skill::{Bundle, Layout, Limits};
use prowess_testkit::raw_tar::gzip;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&gzip(bytes));
});

fn check(gz: &[u8]) {
    let limits = Limits {
        total_bytes: 1 << 20,
        file_bytes: 1 << 19,
        ..Limits::default()
    };
    let Ok(bundle) = Bundle::from_tar_gz(gz, &limits) else {
        return;
    };
    assert!(bundle.total_bytes() <= limits.total_bytes);
    assert!(bundle.len() <= limits.files);
    let packed = bundle.to_tar_gz(&Layout::FLAT).unwrap();
    let again = Bundle::from_tar_gz(&packed, &limits).unwrap();
    assert!(again.files().eq(bundle.files()));
}
