//! Zip archives written byte by byte, so that they can lie.
//!
//! Everything that a zip stores twice is two fields here. The constructors fill both
//! with the truth; a test then changes one.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A zip in the making.
#[derive(Debug, Clone, Default)]
pub struct RawZip {
    /// Bytes before the first entry, which offsets do not count.
    pub prefix: Vec<u8>,
    /// The entries, in the order of their data.
    pub entries: Vec<RawEntry>,
    /// Bytes between the last entry and the directory.
    pub before_directory: Vec<u8>,
    /// Bytes between the directory and the end record.
    pub before_end: Vec<u8>,
    /// The archive's comment.
    pub comment: Vec<u8>,
    /// Bytes after everything.
    pub trailing: Vec<u8>,
    /// What the end record states, where it is not the truth.
    pub end: EndOverrides,
}

/// What an end record states instead of the truth.
#[derive(Debug, Clone, Default)]
pub struct EndOverrides {
    /// The number of this disk.
    pub disk: u16,
    /// How many entries there are.
    pub entries: Option<u16>,
    /// How long the directory is.
    pub directory_size: Option<u32>,
    /// Where the directory begins.
    pub directory_offset: Option<u32>,
}

/// An entry: a header beside the data, a header in the directory, and the data.
#[derive(Debug, Clone)]
pub struct RawEntry {
    /// The header before the data.
    pub local: RawHeader,
    /// The header in the directory.
    pub central: RawHeader,
    /// External attributes: Unix mode in the upper half.
    pub attributes: u32,
    /// The offset of the local header in the directory; correct when `None`.
    pub offset: Option<u32>,
    /// The packed data.
    pub data: Vec<u8>,
    /// Bytes after the data: a descriptor, or something to hide.
    pub after: Vec<u8>,
    /// False to leave the entry out of the data, for one that points into another.
    pub has_data: bool,
}

/// The fields that both headers of an entry have.
#[derive(Debug, Clone)]
pub struct RawHeader {
    /// As written.
    pub name: Vec<u8>,
    /// General purpose flags.
    pub flags: u16,
    /// Compression method.
    pub method: u16,
    /// CRC-32 of the content.
    pub crc: u32,
    /// Bytes of the packed data.
    pub packed: u32,
    /// Bytes of the content.
    pub size: u32,
    /// Extra fields.
    pub extra: Vec<u8>,
}

impl RawEntry {
    /// A stored file.
    pub fn stored(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self::new(name.as_ref(), 0, content, content.to_vec())
    }

    /// A deflated file.
    pub fn deflated(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self::new(name.as_ref(), 8, content, deflate(content))
    }

    /// A folder; the name ends in `/`.
    pub fn folder(name: &str) -> Self {
        let entry = Self::new(name.as_bytes(), 0, b"", Vec::new());
        entry.mode(0o040_755)
    }

    fn new(name: &[u8], method: u16, content: &[u8], data: Vec<u8>) -> Self {
        let header = RawHeader {
            name: name.to_vec(),
            flags: 0,
            method,
            crc: crc(content),
            packed: u32::try_from(data.len()).unwrap(),
            size: u32::try_from(content.len()).unwrap(),
            extra: Vec::new(),
        };
        RawEntry {
            local: header.clone(),
            central: header,
            attributes: 0o100_644 << 16,
            offset: None,
            data,
            after: Vec::new(),
            has_data: true,
        }
    }

    /// Changes both headers alike.
    pub fn change_both(mut self, change: impl Fn(&mut RawHeader)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    /// Changes anything.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Sets the Unix mode, file type included.
    pub fn mode(mut self, mode: u32) -> Self {
        self.attributes = mode << 16;
        self
    }

    /// Moves checksum and sizes behind the data, as streaming writers do.
    pub fn described_after(mut self, signature: bool) -> Self {
        if signature {
            self.after.extend(b"PK\x07\x08");
        }
        for value in [self.local.crc, self.local.packed, self.local.size] {
            self.after.extend(value.to_le_bytes());
        }
        (self.local.crc, self.local.packed, self.local.size) = (0, 0, 0);
        self.change_both(|header| header.flags |= 1 << 3)
    }
}

impl RawZip {
    /// A zip of a small `SKILL.md` and these entries.
    pub fn skill(entries: impl IntoIterator<Item = RawEntry>) -> Self {
        let skill = RawEntry::deflated("SKILL.md", SKILL_MD);
        Self::from_entries(std::iter::once(skill).chain(entries))
    }

    /// A zip of these entries.
    pub fn from_entries(entries: impl IntoIterator<Item = RawEntry>) -> Self {
        RawZip {
            entries: entries.into_iter().collect(),
            ..RawZip::default()
        }
    }

    /// Changes anything.
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut directory = Vec::new();
        for entry in &self.entries {
            let offset = entry.offset.unwrap_or(u32::try_from(body.len()).unwrap());
            if entry.has_data {
                write_local(&mut body, entry);
            }
            write_central(&mut directory, entry, offset);
        }
        body.extend(&self.before_directory);
        let start = u32::try_from(body.len()).unwrap();
        body.extend(&directory);
        body.extend(&self.before_end);
        self.write_end(&mut body, start, directory.len());
        body.extend(&self.trailing);
        [self.prefix.clone(), body].concat()
    }

    fn write_end(&self, out: &mut Vec<u8>, start: u32, size: usize) {
        let count = u16::try_from(self.entries.len()).unwrap();
        let entries = self.end.entries.unwrap_or(count);
        let size = u32::try_from(size).unwrap();
        out.extend(b"PK\x05\x06");
        put16(out, &[self.end.disk, 0, entries, entries]);
        let start = self.end.directory_offset.unwrap_or(start);
        put32(out, &[self.end.directory_size.unwrap_or(size), start]);
        put16(out, &[u16::try_from(self.comment.len()).unwrap()]);
        out.extend(&self.comment);
    }
}

/// The main file of the skills in these archives.
pub const SKILL_MD: &[u8] = b"---\nname: demo\ndescription: Shows.\n---\n\nShow it.\n";

fn write_local(out: &mut Vec<u8>, entry: &RawEntry) {
    out.extend(b"PK\x03\x04");
    put16(out, &[20]);
    write_header(out, &entry.local);
    out.extend(&entry.local.name);
    out.extend(&entry.local.extra);
    out.extend(&entry.data);
    out.extend(&entry.after);
}

fn write_central(out: &mut Vec<u8>, entry: &RawEntry, offset: u32) {
    out.extend(b"PK\x01\x02");
    put16(out, &[3 << 8 | 20, 20]);
    write_header(out, &entry.central);
    put16(out, &[0, 0, 0]); // comment, disk, internal attributes
    put32(out, &[entry.attributes, offset]);
    out.extend(&entry.central.name);
    out.extend(&entry.central.extra);
}

fn write_header(out: &mut Vec<u8>, header: &RawHeader) {
    put16(out, &[header.flags, header.method, 0, 0x21]);
    put32(out, &[header.crc, header.packed, header.size]);
    let lengths = [&header.name, &header.extra].map(|part| u16::try_from(part.len()).unwrap());
    put16(out, &lengths);
}

/// An extra field.
pub fn extra_field(id: u16, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    put16(&mut field, &[id, u16::try_from(content.len()).unwrap()]);
    field.extend(content);
    field
}

/// CRC-32 as zip has it.
pub fn crc(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum()
}

/// A raw deflate stream.
pub fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn put16(out: &mut Vec<u8>, values: &[u16]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}
