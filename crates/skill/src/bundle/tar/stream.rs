//! The inflated stream: one gzip member, cut off where its limits are.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;

use super::super::{BundleError, BundleErrorKind};
use crate::limits::BundleLimits;

/// Headers and padding that one entry may cost on top of its content.
const ENTRY_OVERHEAD_BYTES: u64 = 2048;

pub(super) struct TarStream<'a> {
    gzip: GzDecoder<&'a [u8]>,
    left: u64,
    /// The error when nothing is left.
    exhausted_kind: BundleErrorKind,
    /// The first thing that went wrong. The tar crate passes errors on in its own
    /// words; these are ours.
    fault: Option<BundleErrorKind>,
}

impl<'a> TarStream<'a> {
    pub(super) fn new(gz: &'a [u8], limits: &BundleLimits) -> Self {
        let by_ratio = limits.max_unpacked_bytes(gz.len() as u64);
        let by_size = limits
            .total_bytes
            .saturating_add(ENTRY_OVERHEAD_BYTES.saturating_mul(limits.entries as u64));
        let (left, exhausted_kind) = if by_ratio < by_size {
            (by_ratio, BundleErrorKind::Ratio(limits.ratio))
        } else {
            (by_size, BundleErrorKind::TotalTooLarge(limits.total_bytes))
        };
        TarStream {
            gzip: GzDecoder::new(gz),
            left,
            exhausted_kind,
            fault: None,
        }
    }

    /// Fails with what went wrong while reading, if anything did.
    pub(super) fn take_fault(&mut self) -> Result<(), BundleError> {
        match self.fault.take() {
            Some(fault) => Err(fault.into()),
            None => Ok(()),
        }
    }

    /// Checks that nothing but padding is left, in the tar and in the gzip.
    pub(super) fn finish(mut self) -> Result<(), BundleError> {
        let mut block = [0; 8192];
        loop {
            let read = self.read(&mut block);
            self.take_fault()?;
            match read {
                Ok(0) => break,
                Ok(n) if block.iter().take(n).all(|&byte| byte == 0) => {}
                _ => return Err(BundleErrorKind::TarTrailing.into()),
            }
        }
        match self.gzip.into_inner() {
            [] => Ok(()),
            [0x1f, 0x8b, ..] => Err(BundleErrorKind::GzipMembers.into()),
            _ => Err(BundleErrorKind::GzipTrailing.into()),
        }
    }
}

impl Read for TarStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let fault = match self.gzip.read(into) {
            Ok(n) if n as u64 <= self.left => {
                self.left -= n as u64;
                return Ok(n);
            }
            Ok(_) => self.exhausted_kind.clone(),
            Err(error) => BundleErrorKind::GzipCorrupt(error.to_string()),
        };
        self.fault.get_or_insert(fault);
        Err(io::Error::other("the stream has ended"))
    }
}
