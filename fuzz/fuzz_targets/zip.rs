//! Any bytes as a zip. What is accepted must keep its limits, survive our own
//! packing, and be what an independent reader of zips sees.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits};

fuzz_target!(|bytes: &[u8]| {
    let limits = BundleLimits {
        total_bytes: 1 << 20,
        file_bytes: 1 << 19,
        ..BundleLimits::default()
    };
    let Ok(bundle) = Bundle::from_zip(bytes, &limits) else {
        return;
    };
    assert!(bundle.total_bytes() <= limits.total_bytes);
    assert!(bundle.len() <= limits.files);
    let packed = bundle.to_zip(&ArchiveLayout::FLAT).unwrap();
    let again = Bundle::from_zip(&packed, &limits).unwrap();
    assert!(again.files().eq(bundle.files()));
    agrees(bytes, &bundle);
});

/// The zip crate returns the same content for the raw name of each file.
fn agrees(bytes: &[u8], bundle: &Bundle) {
    let mut other = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    for (path, file) in bundle.files() {
        let name = match bundle.folder() {
            Some(folder) => format!("{folder}/{path}"),
            None => path.to_string(),
        };
        // The Unicode copy of a name replaces one in an old code page.
        let Some(index) = other.index_for_name_raw(name.as_bytes()) else {
            continue;
        };
        let mut entry = other.by_index(index).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert_eq!(content, &file.data[..], "{name}");
    }
}
