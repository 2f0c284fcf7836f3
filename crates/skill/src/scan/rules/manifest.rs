//! Reading a `package.json`, for the rules that look into it.

use std::ops::Range;

use serde_json::Value;

use crate::scan::collector::FindingCollector;
use crate::scan::coverage::GapReason;
use crate::scan::view::FileView;

/// Bytes of a manifest that are parsed.
const MAX_MANIFEST_BYTES: usize = 1 << 20;

/// The manifest; if it cannot be parsed, that is reported.
pub(crate) fn read(view: &FileView<'_>, log: &mut FindingCollector<'_>) -> Option<Value> {
    if view.text.len() > MAX_MANIFEST_BYTES {
        let detail = format!("a manifest of {} bytes was not parsed", view.text.len());
        log.report_gap(Some(view.path), GapReason::FileTooLong, detail);
        return None;
    }
    match serde_json::from_str(&view.text) {
        Ok(manifest) => Some(manifest),
        Err(error) => {
            let detail = format!("not valid JSON ({error}); scripts and packages were not read");
            log.report_gap(Some(view.path), GapReason::InvalidText, detail);
            None
        }
    }
}

/// The location of a key, found by a text search.
pub(crate) fn key_span(view: &FileView<'_>, key: &str) -> Range<usize> {
    match view.text.find(&format!("\"{key}\"")) {
        Some(at) => at + 1..at + 1 + key.len(),
        None => 0..0,
    }
}
