//! An entry's name, decoded once.

use flate2::Crc;

use super::super::BundleErrorKind;
use super::fields::{self, ZipFields};

const UTF8_FLAG: u16 = 1 << 11;
const UNICODE_PATH_EXTRA_ID: u16 = 0x7075;

/// The name as text. A zip may give it in UTF-8 (flagged, or unflagged as macOS
/// writes it), or in some old code page beside a Unicode copy in an extra field.
/// An old code page alone is not guessed at.
pub(super) fn decode(raw: &[u8], flags: u16, extra: &[u8]) -> Result<String, BundleErrorKind> {
    let copy = fields::find_extra(extra, UNICODE_PATH_EXTRA_ID)
        .map_err(|()| BundleErrorKind::ZipHeader("its extra fields are malformed"))?;
    let own = std::str::from_utf8(raw).ok();
    let Some(copy) = copy else {
        return own.map(str::to_owned).ok_or(BundleErrorKind::NameNotUtf8);
    };
    let copy = unicode_copy(raw, copy).ok_or(BundleErrorKind::NameAmbiguous)?;
    // The copy may only replace a name that cannot be decoded by itself.
    let binding = own.filter(|_| raw.is_ascii() || flags & UTF8_FLAG != 0);
    match binding {
        Some(own) if own != copy => Err(BundleErrorKind::NameAmbiguous),
        _ => Ok(copy.to_owned()),
    }
}

/// The copy's text, if it belongs to this name.
fn unicode_copy<'a>(raw: &[u8], field: &'a [u8]) -> Option<&'a str> {
    let mut fields = ZipFields(field);
    let version = fields.take(1)?;
    let crc = fields.u32()?;
    let mut own = Crc::new();
    own.update(raw);
    let matches = version == [1] && crc == own.sum();
    std::str::from_utf8(fields.0).ok().filter(|_| matches)
}
