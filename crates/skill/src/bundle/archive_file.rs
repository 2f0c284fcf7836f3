//! One file of an archive, as the reader of each format shows it to a visitor.

use super::error::BundleError;

/// One regular file of an archive; its bytes are available until the next one is visited.
pub(super) struct ArchiveFile<'e> {
    pub(super) size: u64,
    read: &'e mut dyn FnMut() -> Result<(Vec<u8>, bool), BundleError>,
}

impl<'e> ArchiveFile<'e> {
    pub(super) fn new(
        size: u64,
        read: &'e mut dyn FnMut() -> Result<(Vec<u8>, bool), BundleError>,
    ) -> Self {
        ArchiveFile { size, read }
    }

    /// The content, and whether it may be executed.
    pub(super) fn read(self) -> Result<(Vec<u8>, bool), BundleError> {
        (self.read)()
    }
}
