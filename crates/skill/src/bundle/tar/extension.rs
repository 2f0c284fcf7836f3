//! Entries that only describe the next one: GNU long names and pax records.

use std::io::Read;

use tar::{Entry, EntryType};

use super::super::{BundleError, Reason};
use crate::limits::Limits;

/// What has been said of the entry to come.
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
    pub(super) fn absorb(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        limits: &Limits,
    ) -> Result<bool, BundleError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = payload(entry, limits)?;
                name.pop_if(|last| *last == 0);
                once(&mut self.long_name, name)?;
            }
            EntryType::XHeader => {
                let records = payload(entry, limits)?;
                once(&mut self.pax, Pax::parse(&records)?)?;
            }
            EntryType::XGlobalHeader => {
                let records = payload(entry, limits)?;
                let pax = Pax::parse(&records)?;
                if pax.path.is_some() || pax.size.is_some() || pax.sparse {
                    return refuse("gives one name or size to all entries");
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
    pub(super) fn check(&self, size: u64) -> Result<(), Reason> {
        let Some(pax) = &self.pax else {
            return Ok(());
        };
        if pax.sparse {
            return Err(Reason::Sparse);
        }
        if pax.path.is_some() && self.long_name.is_some() {
            return Err(Reason::NameAmbiguous);
        }
        match pax.size {
            Some(other) if other != size => Err(Reason::Extension("states another size")),
            _ => Ok(()),
        }
    }

    /// At the end of the archive there is nothing left to describe.
    pub(super) fn expect_none(&self) -> Result<(), BundleError> {
        match (&self.long_name, &self.pax) {
            (None, None) => Ok(()),
            _ => refuse("describes no entry"),
        }
    }
}

impl Pax {
    fn parse(mut records: &[u8]) -> Result<Self, BundleError> {
        let mut pax = Pax::default();
        while !records.is_empty() {
            let Some((key, value, rest)) = record(records) else {
                return refuse("is malformed");
            };
            pax.note(key, value)?;
            records = rest;
        }
        Ok(pax)
    }

    fn note(&mut self, key: &[u8], value: &[u8]) -> Result<(), BundleError> {
        match key {
            b"path" => once(&mut self.path, value.to_vec()),
            b"size" => once(&mut self.size, number(value)?),
            b"hdrcharset" if value != b"ISO-IR 10646 2000 UTF-8" => {
                refuse("declares names in another encoding than UTF-8")
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
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = records.iter().position(|&byte| byte == b' ')?;
    let length = std::str::from_utf8(records.get(..blank)?).ok()?;
    let (record, rest) = records.split_at_checked(length.parse().ok()?)?;
    let pair = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    Some((pair.get(..equals)?, pair.get(equals + 1..)?, rest))
}

fn number(value: &[u8]) -> Result<u64, BundleError> {
    let text = std::str::from_utf8(value).ok();
    match text.and_then(|text| text.parse().ok()) {
        Some(number) => Ok(number),
        None => refuse("is malformed"),
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), BundleError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => refuse("comes twice"),
    }
}

fn refuse<T>(why: &'static str) -> Result<T, BundleError> {
    Err(Reason::Extension(why).into())
}

fn payload(entry: &mut Entry<'_, impl Read>, limits: &Limits) -> Result<Vec<u8>, BundleError> {
    let limit = limits.extension_bytes;
    let size = entry.header().entry_size().map_err(super::header)?;
    if size > limit {
        return Err(Reason::ExtensionTooLarge(limit).into());
    }
    Ok(super::content(entry, size)?)
}
