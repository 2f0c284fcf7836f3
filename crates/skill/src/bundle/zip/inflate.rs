//! One entry's packed bytes to its content, and not a byte more than stated.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::super::BundleErrorKind;
use super::central::ZipEntry;

pub(super) const STORED: u16 = 0;
pub(super) const DEFLATED: u16 = 8;

/// Unpacks entry after entry with one set of buffers.
pub(super) struct Inflater(Decompress);

impl Default for Inflater {
    fn default() -> Self {
        Inflater(Decompress::new(false))
    }
}

impl Inflater {
    /// The entry's content; `entry.size` was allowed before.
    pub(super) fn unpack(
        &mut self,
        entry: &ZipEntry<'_>,
        packed: &[u8],
    ) -> Result<Vec<u8>, BundleErrorKind> {
        let data = match entry.method {
            STORED => packed.to_vec(),
            _ => self.inflate(packed, entry.size)?,
        };
        if data.len() as u64 != entry.size {
            return Err(BundleErrorKind::SizeMismatch(entry.size));
        }
        let mut crc = Crc::new();
        crc.update(&data);
        if crc.sum() != entry.crc {
            return Err(BundleErrorKind::Checksum);
        }
        Ok(data)
    }

    fn inflate(&mut self, packed: &[u8], size: u64) -> Result<Vec<u8>, BundleErrorKind> {
        let corrupt = |why: &str| BundleErrorKind::Corrupt(why.to_owned());
        // One byte of room beyond the stated size shows that there is more.
        let capacity = usize::try_from(size.saturating_add(1));
        let mut data = Vec::with_capacity(capacity.map_err(|_| corrupt("it is too large"))?);
        self.0.reset(false);
        let status = self
            .0
            .decompress_vec(packed, &mut data, FlushDecompress::Finish)
            .map_err(|error| corrupt(&error.to_string()))?;
        let all_read = self.0.total_in() == packed.len() as u64;
        match status {
            Status::StreamEnd if all_read => Ok(data),
            Status::StreamEnd => Err(corrupt("bytes follow its deflate stream")),
            _ if data.len() as u64 > size => Err(BundleErrorKind::SizeMismatch(size)),
            _ => Err(corrupt("its deflate stream ends early")),
        }
    }
}
