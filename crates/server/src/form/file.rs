//! A form with one file of any size.
//!
//! What belongs to a file may follow it in the form, so the file is kept on disk
//! until the form has ended. Only its start is ever held in memory.

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

use super::{Flow, file_name, text};
use crate::app::App;
use crate::error::ApiError;

/// The most of a file that is held in memory.
const IN_MEMORY: usize = 256 << 10;
/// Bytes of a file after which its room is looked at again.
const CHECK_BYTES: u64 = 4 << 20;

/// How large a file may be, and who is to keep it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileBounds<'a> {
    pub(crate) max_bytes: u64,
    /// Whose stored files it is to be among, if it is to be stored.
    pub(crate) stored_for: Option<&'a TenantId>,
}

impl FileBounds<'_> {
    /// Refuses a file that has come to so many bytes, and of which more are to come, when
    /// it cannot be kept.
    async fn check(&self, bytes: u64, app: &App) -> Result<(), ApiError> {
        match self.stored_for {
            Some(tenant) => Ok(app.store().check_new_file(tenant, bytes).await?),
            None => Ok(app.store().check_space(CHECK_BYTES)?),
        }
    }
}

/// An uploaded file, as it was sent.
#[derive(Debug, Default)]
pub(crate) struct FileForm {
    pub(crate) name: Option<String>,
    pub(crate) mime: Option<String>,
    /// `purpose`, as OpenAI asks.
    pub(crate) purpose: Option<String>,
    /// `expires_in_seconds`, or `expires_after[seconds]`.
    pub(crate) expires_in: Option<Duration>,
    content: Option<Spool>,
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
    ) -> Result<FileForm, ApiError> {
        bounds.check(0, app).await?;
        let (mut multipart, mut flow) = Flow::of(request, app).await?;
        let mut form = FileForm::default();
        while let Some(field) = flow.part(&mut multipart).await? {
            form.take(field, &mut flow, app, bounds).await?;
        }
        if form.content.is_none() {
            let message = "no file in this request: send it as multipart/form-data in `file`";
            return Err(ApiError::bad_request("file-missing", message));
        }
        Ok(form)
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.content.as_ref().map_or(0, |spool| spool.size)
    }

    async fn take(
        &mut self,
        field: Field<'_>,
        flow: &mut Flow,
        app: &App,
        bounds: FileBounds<'_>,
    ) -> Result<(), ApiError> {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "file" if self.content.is_some() => Err(text::invalid("file", "is there twice")),
            "file" => {
                self.name = file_name(&field);
                self.mime = field.content_type().map(str::to_owned);
                self.content = Some(Spool::fill(field, flow, app, bounds).await?);
                Ok(())
            }
            "purpose" => {
                self.purpose = Some(text::read(field, flow).await?);
                Ok(())
            }
            "expires_in_seconds" | "expires_after[seconds]" => {
                let value = text::read(field, flow).await?;
                self.expires_in = Some(seconds(&name, &value)?);
                Ok(())
            }
            "expires_after[anchor]" => match text::read(field, flow).await?.as_str() {
                "created_at" => Ok(()),
                _ => Err(text::invalid(&name, "is not created_at")),
            },
            _ if field.file_name().is_some() => Err(text::invalid(
                &name,
                "the file is sent in `file`, not in this field",
            )),
            _ => text::read(field, flow).await.map(drop),
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
    async fn fill(
        mut field: Field<'_>,
        flow: &mut Flow,
        app: &App,
        bounds: FileBounds<'_>,
    ) -> Result<Spool, ApiError> {
        let mut spool = Spool::default();
        let mut next_check = CHECK_BYTES;
        while let Some(chunk) = flow.piece(&mut field).await? {
            spool.size = spool.size.saturating_add(chunk.len() as u64);
            if spool.size > bounds.max_bytes {
                return Err(too_large(bounds.max_bytes));
            }
            if spool.size >= next_check {
                bounds.check(spool.size, app).await?;
                next_check = spool.size.saturating_add(CHECK_BYTES);
            }
            spool.write(&chunk).await.map_err(spool_failed)?;
        }
        spool.rewind().await.map_err(spool_failed)?;
        Ok(spool)
    }

    async fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        if self.disk.is_none() && self.memory.len() + chunk.len() <= IN_MEMORY {
            self.memory.extend_from_slice(chunk);
            return Ok(());
        }
        if self.disk.is_none() {
            // It has no name, so nothing is left behind whatever happens.
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

fn too_large(max_bytes: u64) -> ApiError {
    let message = format!("the file is larger than the {max_bytes} bytes allowed");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "file-too-large", message)
}

/// What is on disk while it comes in cannot be written or read again.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
pub(crate) fn spool_failed(error: io::Error) -> ApiError {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => ApiError::storage_full("storage-full", &error),
        _ => ApiError::unavailable("spool", &error),
    }
}

/// An hour to ninety days (Anthropic), or to thirty (OpenAI, which lets it pass here).
fn seconds(name: &str, text: &str) -> Result<Duration, ApiError> {
    const ALLOWED: std::ops::RangeInclusive<u64> = 3_600..=7_776_000;
    let seconds = text.trim().parse().ok().filter(|s| ALLOWED.contains(s));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| text::invalid(name, "is not a number of seconds from 3600 to 7776000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_one_that_fails() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let full = spool_failed(kind.into());
            assert_eq!((full.status.as_u16(), full.code), (507, "storage-full"));
        }
        let broken = spool_failed(io::ErrorKind::BrokenPipe.into());
        assert_eq!((broken.status.as_u16(), broken.code), (503, "spool"));
    }
}
