//! The server name of a TLS client, parsed strictly from its first record.
//!
//! Exactly one form is accepted: one record with one ClientHello, every length exact, no
//! extension twice, one `server_name` with one host name. A client that may hide another
//! name (encrypted ClientHello) is marked: the visible name then holds only for a server
//! that cannot decrypt the other.

use super::authority::HostName;
use std::collections::BTreeSet;

/// The result of parsing the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedHello {
    /// A ClientHello for this name.
    Name(HostName),
    /// The same with an encrypted ClientHello (ECH), which servers may accept instead.
    /// Browsers also send meaningless ones.
    Encrypted(HostName),
    /// An incomplete ClientHello.
    Incomplete,
    /// Not accepted, and why.
    Refused(&'static str),
}

/// Longest record of TLS; a ClientHello is in one.
pub(crate) const MAX_RECORD_BYTES: usize = 16 << 10;

/// Bytes before a record's content.
const RECORD_HEADER_BYTES: usize = 5;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const HOST_NAME: u8 = 0;
const SERVER_NAME: u16 = 0;

/// Extensions that hide the real name: the encrypted ClientHello, and its first draft.
const HIDDEN_NAME_EXTENSIONS: [u16; 2] = [0xfe0d, 0xffce];

/// Why a ClientHello with such an extension is not forwarded.
pub(crate) const ENCRYPTED: &str = "the ClientHello is encrypted (ECH), so its name cannot be \
    checked; turn ECH off in the client (Chromium: --disable-features=EncryptedClientHello)";

const NOT_TLS: &str = "this is not TLS: a record with a ClientHello must come first";
const BAD_LENGTHS: &str = "the lengths in the ClientHello do not fit";

/// Parses the server name of a ClientHello. Bytes after the first record are ignored.
pub(crate) fn server_name(bytes: &[u8]) -> ParsedHello {
    let Some(record) = first_record(bytes) else {
        return ParsedHello::Incomplete;
    };
    match record.and_then(read_hello) {
        Ok((name, false)) => ParsedHello::Name(name),
        Ok((name, true)) => ParsedHello::Encrypted(name),
        Err(why) => ParsedHello::Refused(why),
    }
}

/// The first record, in which the ClientHello is, and the bytes after it.
pub(crate) fn split_first_record(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = match first_record(bytes) {
        Some(Ok(content)) => RECORD_HEADER_BYTES + content.len(),
        Some(Err(_)) | None => bytes.len(),
    };
    bytes.split_at_checked(end).unwrap_or((bytes, &[]))
}

/// The content of the first record; `None` while it is incomplete.
fn first_record(bytes: &[u8]) -> Option<Result<&[u8], &'static str>> {
    let Some((header, rest)) = bytes.split_first_chunk::<RECORD_HEADER_BYTES>() else {
        let begins_well = bytes.first().is_none_or(|kind| *kind == HANDSHAKE);
        return (!begins_well).then_some(Err(NOT_TLS));
    };
    let [HANDSHAKE, 3, 1..=4, high, low] = *header else {
        return Some(Err(NOT_TLS));
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length == 0 || length > MAX_RECORD_BYTES {
        return Some(Err(BAD_LENGTHS));
    }
    rest.get(..length).map(Ok)
}

/// The name, and whether there may be another, encrypted one.
fn read_hello(record: &[u8]) -> Result<(HostName, bool), &'static str> {
    let mut message = Reader(record);
    if message.take(1).ok_or(BAD_LENGTHS)? != [CLIENT_HELLO] {
        return Err(NOT_TLS);
    }
    let mut hello = Reader(message.prefixed(3).ok_or(BAD_LENGTHS)?);
    message.end()?;
    let extensions = read_extensions(&mut hello).ok_or(BAD_LENGTHS)?;
    hello.end()?;
    find_name(Reader(extensions))
}

/// Skips to the extensions, checking the lengths of all fields before them.
fn read_extensions<'a>(hello: &mut Reader<'a>) -> Option<&'a [u8]> {
    let _version_and_random = hello.take(2 + 32)?;
    let session = hello.prefixed(1)?;
    let suites = hello.prefixed(2)?;
    let compressions = hello.prefixed(1)?;
    let fits = session.len() <= 32
        && !suites.is_empty()
        && suites.len().is_multiple_of(2)
        && !compressions.is_empty();
    fits.then(|| hello.prefixed(2)).flatten()
}

fn find_name(mut extensions: Reader<'_>) -> Result<(HostName, bool), &'static str> {
    let mut seen = BTreeSet::new();
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number().ok_or(BAD_LENGTHS)?;
        let content = extensions.prefixed(2).ok_or(BAD_LENGTHS)?;
        if !seen.insert(kind) {
            return Err("the ClientHello has an extension twice");
        }
        if kind == SERVER_NAME {
            name = Some(read_name(content)?);
        }
    }
    let is_encrypted = HIDDEN_NAME_EXTENSIONS
        .iter()
        .any(|kind| seen.contains(kind));
    name.map(|name| (name, is_encrypted))
        .ok_or("the ClientHello names no server (SNI)")
}

/// The one host name of a `server_name` extension.
fn read_name(extension: &[u8]) -> Result<HostName, &'static str> {
    let mut extension = Reader(extension);
    let mut names = Reader(extension.prefixed(2).ok_or(BAD_LENGTHS)?);
    extension.end()?;
    if names.take(1).ok_or(BAD_LENGTHS)? != [HOST_NAME] {
        return Err("the ClientHello names a server by something else than a host name");
    }
    let name = names.prefixed(2).ok_or(BAD_LENGTHS)?;
    if !names.0.is_empty() {
        return Err("the ClientHello names more than one server");
    }
    let name = std::str::from_utf8(name).ok();
    name.filter(|name| !name.ends_with('.'))
        .and_then(HostName::parse)
        .ok_or("the server name in the ClientHello is not a plain host name")
}

/// A reader of bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Reads bytes with a length prefix of `width` bytes.
    fn prefixed(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self
            .take(width)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        self.take(length)
    }

    /// Fails if bytes are left.
    fn end(&self) -> Result<(), &'static str> {
        self.0.is_empty().then_some(()).ok_or(BAD_LENGTHS)
    }
}

#[cfg(test)]
pub(crate) mod tests;
