//! Tar archives written block by block, so that they can lie.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::raw_zip::SKILL_MD;

const BLOCK: usize = 512;

/// A tar in the making.
#[derive(Debug, Clone, Default)]
pub struct RawTar {
    blocks: Vec<u8>,
}

impl RawTar {
    /// Nothing yet.
    pub fn new() -> Self {
        RawTar::default()
    }

    /// A tar that begins with a small `SKILL.md`.
    pub fn skill() -> Self {
        RawTar::new().file("SKILL.md", SKILL_MD)
    }

    /// Adds a file.
    pub fn file(self, name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        self.entry(b'0', name, content)
    }

    /// Adds an entry of any type, of which the size is true.
    pub fn entry(self, kind: u8, name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        self.header(kind, name, content.len() as u64).data(content)
    }

    /// Adds a header alone, with any size.
    pub fn header(self, kind: u8, name: impl AsRef<[u8]>, size: u64) -> Self {
        self.header_with(kind, name, size, 0o644, |_| {})
    }

    /// Adds a header with any mode, changed before its checksum is taken.
    pub fn header_with(
        mut self,
        kind: u8,
        name: impl AsRef<[u8]>,
        size: u64,
        mode: u32,
        change: impl FnOnce(&mut [u8]),
    ) -> Self {
        let mut header = vec![0; BLOCK];
        put_bytes(&mut header, 0, name.as_ref());
        put_bytes(&mut header, 100, format!("{mode:07o}").as_bytes());
        put_bytes(&mut header, 108, b"0001750\0");
        put_bytes(&mut header, 116, b"0001750\0");
        put_bytes(&mut header, 124, format!("{size:011o}").as_bytes());
        put_bytes(&mut header, 136, b"00000000000");
        put_bytes(&mut header, 156, &[kind]);
        put_bytes(&mut header, 257, b"ustar\x0000");
        change(&mut header);
        put_bytes(&mut header, 148, b"        ");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        put_bytes(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
        self.blocks.extend(header);
        self
    }

    /// Adds data, padded to whole blocks.
    pub fn data(mut self, content: &[u8]) -> Self {
        self.blocks.extend(content);
        let padded = self.blocks.len().next_multiple_of(BLOCK);
        self.blocks.resize(padded, 0);
        self
    }

    /// Adds a GNU long name for the next entry.
    pub fn long_name(self, name: &[u8]) -> Self {
        self.entry(b'L', "././@LongLink", &[name, b"\0"].concat())
    }

    /// Adds pax records for the next entry.
    pub fn pax(self, records: &[(&str, &str)]) -> Self {
        let lines: String = records.iter().map(|(k, v)| pax_record(k, v)).collect();
        self.entry(b'x', "PaxHeader/x", lines.as_bytes())
    }

    /// Adds pax records for all entries.
    pub fn pax_global(self, records: &[(&str, &str)]) -> Self {
        let lines: String = records.iter().map(|(k, v)| pax_record(k, v)).collect();
        self.entry(b'g', "pax_global_header", lines.as_bytes())
    }

    /// The plain tar, with its end mark.
    pub fn bytes(&self) -> Vec<u8> {
        [self.blocks.clone(), vec![0; 2 * BLOCK]].concat()
    }

    /// The tar, compressed.
    pub fn gz(&self) -> Vec<u8> {
        gzip(&self.bytes())
    }
}

/// A pax record, whose length counts itself.
fn pax_record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let length = |digits: usize| rest.len() + digits;
    let digits = (1..9).find(|&d| length(d).to_string().len() == d).unwrap();
    format!("{}{rest}", length(digits))
}

/// One gzip member.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn put_bytes(header: &mut [u8], at: usize, value: &[u8]) {
    for (slot, byte) in header.iter_mut().skip(at).zip(value) {
        *slot = *byte;
    }
}
