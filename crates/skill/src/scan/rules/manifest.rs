//! Reading a `package.json`, for the rules that look into it.

use std::ops::Range;

use serde_json::Value;

use crate::scan::collector::Collector;
use crate::scan::report::GapReason;
use crate::scan::view::View;

/// Bytes beyond which a manifest is no manifest.
const LONGEST: usize = 1 << 20;

/// The manifest, unless it cannot be read, which is told.
pub(crate) fn read(view: &View<'_>, log: &mut Collector<'_>) -> Option<Value> {
    if view.text.len() > LONGEST {
        let detail = format!("a manifest of {} bytes was not parsed", view.text.len());
        log.gap(Some(view.path), GapReason::FileTooLong, detail);
        return None;
    }
    match serde_json::from_str(&view.text) {
        Ok(manifest) => Some(manifest),
        Err(error) => {
            let detail = format!("not valid JSON ({error}); scripts and packages were not read");
            log.gap(Some(view.path), GapReason::InvalidText, detail);
            None
        }
    }
}

/// Where a key stands, as far as a search can tell.
pub(crate) fn place_of(view: &View<'_>, key: &str) -> Range<usize> {
    match view.text.find(&format!("\"{key}\"")) {
        Some(at) => at + 1..at + 1 + key.len(),
        None => 0..0,
    }
}
