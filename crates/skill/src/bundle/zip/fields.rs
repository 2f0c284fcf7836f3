//! Little-endian fields from a slice, never past its end.

/// What is still unread of a header.
#[derive(Clone, Copy)]
pub(super) struct ZipFields<'a>(pub(super) &'a [u8]);

impl<'a> ZipFields<'a> {
    /// The fields of `bytes` from `at` on.
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        bytes.get(at..).map(ZipFields)
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

/// The content of the first extra field of kind `id`; `Err` when the fields do
/// not hold together.
pub(super) fn find_extra(fields: &[u8], id: u16) -> Result<Option<&[u8]>, ()> {
    let mut fields = ZipFields(fields);
    let mut found = None;
    // Some writers pad with up to three zero bytes, too few for a field.
    while fields.0.len() >= 4 {
        let (kind, len) = (fields.u16().ok_or(())?, fields.u16().ok_or(())?);
        let content = fields.take(usize::from(len)).ok_or(())?;
        if kind == id && found.replace(content).is_some() {
            return Err(());
        }
    }
    Ok(found)
}
