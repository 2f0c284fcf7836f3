//! Entries that only describe the next one: GNU long names and pax records.

use std::io::Read;

use tar::{Entry, EntryType};

use super::super::{BundleError, BundleErrorKind};
use crate::limits::BundleLimits;

/// The extension headers of the next entry.
#[derive(Default)]
pub(super) struct Extensions {
    long_name: Option<Vec<u8>>,
    pax: Option<Pax>,
}

#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

impl Extensions {
    /// Takes the entry in if it is an extension; false if it is a thing of its own.
    pub(super) fn read_extension(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        limits: &BundleLimits,
    ) -> Result<bool, BundleError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = read_payload(entry, limits)?;
                name.pop_if(|last| *last == 0);
                set_once(&mut self.long_name, name)?;
            }
            EntryType::XHeader => {
                let records = read_payload(entry, limits)?;
                set_once(&mut self.pax, Pax::parse(&records)?)?;
            }
            EntryType::XGlobalHeader => {
                let records = read_payload(entry, limits)?;
                let pax = Pax::parse(&records)?;
                if pax.path.is_some() || pax.size.is_some() || pax.sparse {
                    return header_error("gives one name or size to all entries");
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The name that replaces the one in the entry's header.
    pub(super) fn name(&self) -> Option<&[u8]> {
        let pax = self.pax.as_ref().and_then(|pax| pax.path.as_deref());
        self.long_name.as_deref().or(pax)
    }

    /// Tools differ in which name and which size they believe, so there may be
    /// only one of each.
    pub(super) fn check(&self, size: u64) -> Result<(), BundleErrorKind> {
        let Some(pax) = &self.pax else {
            return Ok(());
        };
        if pax.sparse {
            return Err(BundleErrorKind::Sparse);
        }
        if pax.path.is_some() && self.long_name.is_some() {
            return Err(BundleErrorKind::NameAmbiguous);
        }
        match pax.size {
            Some(other) if other != size => Err(BundleErrorKind::Extension("states another size")),
            _ => Ok(()),
        }
    }

    /// At the end of the archive there is nothing left to describe.
    pub(super) fn expect_none(&self) -> Result<(), BundleError> {
        match (&self.long_name, &self.pax) {
            (None, None) => Ok(()),
            _ => header_error("describes no entry"),
        }
    }
}

impl Pax {
    fn parse(mut records: &[u8]) -> Result<Self, BundleError> {
        let mut pax = Pax::default();
        while !records.is_empty() {
            let Some((key, value, rest)) = split_record(records) else {
                return header_error("is malformed");
            };
            pax.set_record(key, value)?;
            records = rest;
        }
        Ok(pax)
    }

    fn set_record(&mut self, key: &[u8], value: &[u8]) -> Result<(), BundleError> {
        match key {
            b"path" => set_once(&mut self.path, value.to_vec()),
            b"size" => set_once(&mut self.size, parse_number(value)?),
            b"hdrcharset" if value != b"ISO-IR 10646 2000 UTF-8" => {
                header_error("declares names in an encoding other than UTF-8")
            }
            _ => {
                self.sparse |= key.starts_with(b"GNU.sparse.");
                Ok(())
            }
        }
    }
}

/// The first record's key and value, and what follows it. A record is written
/// `LENGTH KEY=VALUE\n`, and its length counts all of that.
fn split_record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = records.iter().position(|&byte| byte == b' ')?;
    let length = std::str::from_utf8(records.get(..blank)?).ok()?;
    let (record, rest) = records.split_at_checked(length.parse().ok()?)?;
    let pair = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    Some((pair.get(..equals)?, pair.get(equals + 1..)?, rest))
}

fn parse_number(value: &[u8]) -> Result<u64, BundleError> {
    let text = std::str::from_utf8(value).ok();
    match text.and_then(|text| text.parse().ok()) {
        Some(number) => Ok(number),
        None => header_error("is malformed"),
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T) -> Result<(), BundleError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => header_error("comes twice"),
    }
}

fn header_error<T>(why: &'static str) -> Result<T, BundleError> {
    Err(BundleErrorKind::Extension(why).into())
}

fn read_payload(
    entry: &mut Entry<'_, impl Read>,
    limits: &BundleLimits,
) -> Result<Vec<u8>, BundleError> {
    let limit = limits.extension_bytes;
    let size = entry.header().entry_size().map_err(super::header_error)?;
    if size > limit {
        return Err(BundleErrorKind::ExtensionTooLarge(limit).into());
    }
    Ok(super::read_content(entry, size)?)
}
