//! Forms with files that pages in this process receive, read within the limits of the API's own
//! forms: minimum rate, bytes before a part, and bytes in memory of a tenant.

use axum::extract::multipart::Field;
use axum::extract::{Multipart, Request};
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use prowess_store::TenantId;

use super::FormReader;
use crate::app::App;
use crate::bodies::OwnedBodyReservation;
use crate::error::HttpError;

/// A form that is being read. Its bytes count for the tenant until it is dropped: keep it for as
/// long as its fields.
pub struct PageForm {
    multipart: Multipart,
    reader: CountedReader,
}

/// Reserves what has arrived of a form: heads of parts and what the parser has not returned yet
/// are in memory too.
struct CountedReader {
    reader: FormReader,
    reservation: OwnedBodyReservation,
    /// Bytes that are reserved.
    reserved: u64,
}

/// One field of a form.
#[derive(Debug)]
pub struct PageField {
    /// Empty if it has none.
    pub name: String,
    /// If it is a file.
    pub file_name: Option<String>,
    /// Its content.
    pub data: Bytes,
}

/// Why a form cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PageFormError {
    /// The status of the response.
    pub status: StatusCode,
    message: String,
}

impl From<HttpError> for PageFormError {
    fn from(error: HttpError) -> Self {
        PageFormError {
            status: error.status,
            message: error.message,
        }
    }
}

impl PageForm {
    pub(crate) async fn open(
        app: &App,
        tenant: &TenantId,
        request: Request,
    ) -> Result<PageForm, PageFormError> {
        let (multipart, reader) = FormReader::open(request, app).await?;
        let reader = CountedReader {
            reader,
            reservation: app.body_budget().reserve_owned(tenant),
            reserved: 0,
        };
        Ok(PageForm { multipart, reader })
    }

    /// The next field with its content; `None` at the end.
    ///
    /// # Errors
    /// When the form is broken, too large or too slow, or there is no memory for it.
    pub async fn next_field(&mut self) -> Result<Option<PageField>, PageFormError> {
        let Some(mut field) = self.reader.next_part(&mut self.multipart).await? else {
            return Ok(None);
        };
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.file_name().map(str::to_owned);
        let mut data = BytesMut::new();
        while let Some(chunk) = self.reader.next_chunk(&mut field).await? {
            data.extend_from_slice(&chunk);
        }
        Ok(Some(PageField {
            name,
            file_name,
            data: data.freeze(),
        }))
    }
}

impl CountedReader {
    async fn next_part<'a>(
        &mut self,
        form: &'a mut Multipart,
    ) -> Result<Option<Field<'a>>, HttpError> {
        let part = self.reader.next_part(form).await?;
        self.reserve_received().await?;
        Ok(part)
    }

    async fn next_chunk(&mut self, field: &mut Field<'_>) -> Result<Option<Bytes>, HttpError> {
        let chunk = self.reader.next_chunk(field).await?;
        self.reserve_received().await?;
        Ok(chunk)
    }

    async fn reserve_received(&mut self) -> Result<(), HttpError> {
        let received = self.reader.received();
        let more = usize::try_from(received - self.reserved).unwrap_or(usize::MAX);
        self.reservation.grow(more).await?;
        self.reserved = received;
        Ok(())
    }
}
