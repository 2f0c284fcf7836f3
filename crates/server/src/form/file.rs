//! A form with one file of any size.
//!
//! Fields that belong to a file may follow it in the form, so the file is spooled to disk
//! until the form has ended. Only its start is held in memory.

use std::io::{self, SeekFrom};
use std::time::Duration;

use axum::extract::Request;
use axum::extract::multipart::Field;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use prowess_store::TenantId;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::spool_shares::{SpoolShare, TooMuchSpooled};
use super::{FormReader, text, unescaped_file_name};
use crate::app::App;
use crate::error::HttpError;

/// Bytes of a file that are held in memory.
const MAX_MEMORY_BYTES: usize = 256 << 10;
/// Bytes after which the available storage is checked again.
const SPACE_CHECK_BYTES: u64 = 4 << 20;

/// Maximum size of a file, and who sends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBounds<'a> {
    pub(crate) max_bytes: u64,
    pub(crate) tenant: &'a TenantId,
    /// Whether it will be among the stored files of the tenant.
    pub(crate) is_stored: bool,
}

impl FileBounds<'_> {
    /// Rejects a file of which this many bytes have arrived when it cannot be stored.
    async fn check(&self, bytes: u64, app: &App) -> Result<(), HttpError> {
        match self.is_stored {
            true => Ok(app.store().check_new_file(self.tenant, bytes).await?),
            false => Ok(app.store().check_space(SPACE_CHECK_BYTES)?),
        }
    }
}

/// An uploaded file, as sent.
#[derive(Debug, Default)]
pub(crate) struct FileForm {
    pub(crate) name: Option<String>,
    pub(crate) mime: Option<String>,
    /// `purpose`, as in OpenAI's API.
    pub(crate) purpose: Option<String>,
    /// `expires_in_seconds`, or `expires_after[seconds]`.
    pub(crate) expires_in: Option<Duration>,
    content: Option<Spool>,
    /// What it takes on the disk, which counts as long as this form exists.
    share: Option<SpoolShare>,
}

#[derive(Debug, Default)]
struct Spool {
    size: u64,
    memory: Vec<u8>,
    disk: Option<tokio::fs::File>,
}

impl FileForm {
    /// Reads the form of a request.
    pub(crate) async fn read(
        request: Request,
        app: &App,
        bounds: FileBounds<'_>,
    ) -> Result<FileForm, HttpError> {
        bounds.check(0, app).await?;
        let (mut multipart, mut reader) = FormReader::open(request, app).await?;
        let mut form = FileForm {
            share: Some(app.transfers().spools().begin(bounds.tenant)),
            ..FileForm::default()
        };
        while let Some(field) = reader.next_part(&mut multipart).await? {
            form.read_field(field, &mut reader, app, bounds).await?;
        }
        if form.content.is_none() {
            let message = "no file in this request: send it as multipart/form-data in `file`";
            return Err(HttpError::bad_request("file-missing", message));
        }
        Ok(form)
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.content.as_ref().map_or(0, |spool| spool.size)
    }

    async fn read_field(
        &mut self,
        field: Field<'_>,
        reader: &mut FormReader,
        app: &App,
        bounds: FileBounds<'_>,
    ) -> Result<(), HttpError> {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "file" if self.content.is_some() => Err(text::invalid_field("file", "was sent twice")),
            "file" => {
                self.name = unescaped_file_name(&field);
                self.mime = field.content_type().map(str::to_owned);
                let share = self.share.as_mut();
                let spool = Spool::read_from(field, reader, app, bounds, share).await?;
                self.content = Some(spool);
                Ok(())
            }
            "purpose" => {
                let purpose = text::read_text(field, reader).await?;
                set_once(&mut self.purpose, &name, purpose)
            }
            "expires_in_seconds" | "expires_after[seconds]" => {
                let value = text::read_text(field, reader).await?;
                set_once(&mut self.expires_in, &name, parse_expiry(&name, &value)?)
            }
            "expires_after[anchor]" => match text::read_text(field, reader).await?.as_str() {
                "created_at" => Ok(()),
                _ => Err(text::invalid_field(&name, "is not created_at")),
            },
            _ if field.file_name().is_some() => Err(text::invalid_field(
                &name,
                "the file is sent in `file`, not in this field",
            )),
            _ => text::read_text(field, reader).await.map(drop),
        }
    }

    /// The content, from its start.
    pub(crate) fn content(&mut self) -> impl Stream<Item = io::Result<Bytes>> + use<> {
        let spool = self.content.take().unwrap_or_default();
        let start = futures_util::stream::iter([Ok(Bytes::from(spool.memory))]);
        let rest = spool.disk.map(ReaderStream::new);
        start.chain(futures_util::stream::iter(rest).flatten())
    }
}

impl Spool {
    async fn read_from(
        mut field: Field<'_>,
        reader: &mut FormReader,
        app: &App,
        bounds: FileBounds<'_>,
        mut share: Option<&mut SpoolShare>,
    ) -> Result<Spool, HttpError> {
        let mut spool = Spool::default();
        let mut next_check = SPACE_CHECK_BYTES;
        while let Some(chunk) = reader.next_chunk(&mut field).await? {
            spool.size = spool.size.saturating_add(chunk.len() as u64);
            if spool.size > bounds.max_bytes {
                return Err(too_large_error(bounds.max_bytes));
            }
            if spool.size >= next_check {
                bounds.check(spool.size, app).await?;
                if let Some(share) = share.as_deref_mut() {
                    // For what comes until the next check.
                    let free = prowess_store::free_bytes(&std::env::temp_dir());
                    share.grow(SPACE_CHECK_BYTES, free)?;
                }
                next_check = spool.size.saturating_add(SPACE_CHECK_BYTES);
            }
            spool.write(&chunk).await.map_err(spool_error)?;
        }
        spool.rewind().await.map_err(spool_error)?;
        Ok(spool)
    }

    async fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        if self.disk.is_none() && self.memory.len() + chunk.len() <= MAX_MEMORY_BYTES {
            self.memory.extend_from_slice(chunk);
            return Ok(());
        }
        if self.disk.is_none() {
            // The file has no name, so nothing is left behind on failure.
            let file = tokio::task::spawn_blocking(tempfile::tempfile).await??;
            self.disk = Some(tokio::fs::File::from_std(file));
        }
        match &mut self.disk {
            Some(disk) => disk.write_all(chunk).await,
            None => Ok(()),
        }
    }

    async fn rewind(&mut self) -> io::Result<()> {
        if let Some(disk) = &mut self.disk {
            disk.flush().await?;
            disk.seek(SeekFrom::Start(0)).await?;
        }
        Ok(())
    }
}

impl From<TooMuchSpooled> for HttpError {
    fn from(_: TooMuchSpooled) -> Self {
        let message = "your uploads in progress use half of the server's temporary space; send \
            fewer at once, and try again when one has ended";
        HttpError::new(StatusCode::TOO_MANY_REQUESTS, "transfers-busy", message).retry_after(10)
    }
}

fn too_large_error(max_bytes: u64) -> HttpError {
    let message = format!("the file is larger than the {max_bytes} bytes allowed");
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "file-too-large", message)
}

/// Sets what a form says once.
fn set_once<T>(field: &mut Option<T>, name: &str, value: T) -> Result<(), HttpError> {
    match field.replace(value) {
        Some(_) => Err(text::invalid_field(name, "was sent twice; send it once")),
        None => Ok(()),
    }
}

/// Maps a failure to write or read the spool.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
pub(crate) fn spool_error(error: io::Error) -> HttpError {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => HttpError::storage_full("storage-full", &error),
        _ => HttpError::unavailable("spool", &error),
    }
}

/// An hour to ninety days (Anthropic); OpenAI allows thirty, which is not enforced here.
fn parse_expiry(name: &str, text: &str) -> Result<Duration, HttpError> {
    const ALLOWED_SECONDS: std::ops::RangeInclusive<u64> = 3_600..=7_776_000;
    let seconds = text
        .trim()
        .parse()
        .ok()
        .filter(|s| ALLOWED_SECONDS.contains(s));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| text::invalid_field(name, "is not a number of seconds from 3600 to 7776000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_differs_from_one_that_fails() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let full = spool_error(kind.into());
            assert_eq!((full.status.as_u16(), full.code), (507, "storage-full"));
        }
        let broken = spool_error(io::ErrorKind::BrokenPipe.into());
        assert_eq!((broken.status.as_u16(), broken.code), (503, "spool"));
    }
}
