//! The name that a TLS client asks for, read strictly from its first record.
//!
//! Exactly one reading is accepted: one record that holds one ClientHello, every length
//! exact, no extension twice, one `server_name` with one host name. Where a client may hide
//! another name (encrypted ClientHello) that is said: the name that can be seen is then the
//! right one only for whoever answers it, and cannot read the other.

use super::authority::HostName;
use std::collections::BTreeSet;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParsedHello {
    /// A ClientHello for this name.
    Name(HostName),
    /// The same with an encrypted ClientHello (ECH) in it, for which servers may answer
    /// instead. Browsers also send one that means nothing.
    Encrypted(HostName),
    /// The beginning of one.
    Incomplete,
    /// Nothing that is let through, and why.
    Refused(&'static str),
}

/// Longest record, as TLS has it; a ClientHello is in one.
pub(crate) const MAX_RECORD_BYTES: usize = 16 << 10;

/// Bytes before a record's content.
const RECORD_HEADER_BYTES: usize = 5;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const HOST_NAME: u8 = 0;
const SERVER_NAME: u16 = 0;

/// Extensions that hide the real name: the encrypted ClientHello, and its first draft.
const HIDDEN_NAME_EXTENSIONS: [u16; 2] = [0xfe0d, 0xffce];

/// Why one with such an extension is not passed on.
pub(crate) const ENCRYPTED: &str = "the ClientHello is encrypted (ECH), so its name cannot be \
    checked; turn ECH off in the client (Chromium: --disable-features=EncryptedClientHello)";

const NOT_TLS: &str = "this is not TLS: a record with a ClientHello must come first";
const BAD_LENGTHS: &str = "the lengths in the ClientHello do not fit";

/// Reads the server name of a ClientHello. More bytes than the first record are not
/// looked at.
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

/// The content of the first record; `None` while it is not all there.
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

/// The name, and whether there may be another that is encrypted.
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

/// Skips to the extensions, holding all before them to their bounds.
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

/// Bytes that are taken off one after the other.
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

    /// Takes as many bytes as the number before them, of `width` bytes, says.
    fn prefixed(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self
            .take(width)?
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        self.take(length)
    }

    /// Refuses what is left.
    fn end(&self) -> Result<(), &'static str> {
        self.0.is_empty().then_some(()).ok_or(BAD_LENGTHS)
    }
}

#[cfg(test)]
pub(crate) mod tests;
