//! Multipart bodies as the SDKs send them, read within limits.
//!
//! | module | owns |
//! |---|---|
//! | `skill` | the files of a skill, held in memory up to the skill's limits |
//! | `skill_fields` | form fields that describe a skill without files |
//! | `urlencoded` | forms without files, as many clients send them |
//! | `file` | one file of any size, spooled to disk |
//! | `spool_shares` | the disk that spooled files take, by tenant |
//! | `text` | short text fields |
//! | `page_form` | forms of pages in this process, held in memory |
//! | `transfers` | concurrent uploads and downloads |

mod file;
mod page_form;
mod skill;
mod skill_fields;
mod spool_shares;
mod text;
pub(crate) mod transfers;
mod urlencoded;

use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request};
use bytes::Bytes;

pub(crate) use file::{FileBounds, FileForm, spool_error};
pub use page_form::{PageField, PageForm, PageFormError};
pub(crate) use skill::{FormFile, FormKind, SkillForm};
pub(crate) use skill_fields::SkillFields;

use crate::app::App;
use crate::bodies::{BodyPace, Gate, ItemTooLong};
use crate::error::HttpError;

/// Bytes that the parser may read to find the next part or the next chunk of one. It holds the
/// head of a part, and everything before the first, in memory until they end. At most the
/// unused rest of one frame comes on top.
const MAX_PART_HEAD_BYTES: u64 = 64 << 10;

/// Reads a form within limits.
struct FormReader {
    pace: BodyPace,
    gate: Gate,
}

impl FormReader {
    /// Opens the form of a request.
    async fn open(request: Request, app: &App) -> Result<(Multipart, FormReader), HttpError> {
        let gate = Gate::default();
        let request = request.map(|body| Body::new(gate.guard(body)));
        let multipart = Multipart::from_request(request, app).await?;
        let pace = BodyPace::new(app.settings());
        Ok((multipart, FormReader { pace, gate }))
    }

    /// Bytes of the body that have arrived.
    fn received(&self) -> u64 {
        self.gate.received()
    }

    /// The next part, unless the client stalls.
    async fn next_part<'a>(
        &mut self,
        form: &'a mut Multipart,
    ) -> Result<Option<Field<'a>>, HttpError> {
        Ok(self.read_item(form.next_field()).await??)
    }

    /// The next chunk of a part.
    async fn next_chunk(&mut self, field: &mut Field<'_>) -> Result<Option<Bytes>, HttpError> {
        Ok(self.read_item(field.chunk()).await??)
    }

    async fn read_item<F: Future>(&mut self, parser: F) -> Result<F::Output, HttpError> {
        let item = self.gate.next_item(parser, MAX_PART_HEAD_BYTES);
        let item = self.pace.wait(item, || self.gate.received()).await?;
        item.map_err(|ItemTooLong| head_too_long_error())
    }
}

fn head_too_long_error() -> HttpError {
    let message = format!(
        "the multipart form cannot be read: no part of it begins within {MAX_PART_HEAD_BYTES} bytes. \
         Check that its boundary is the one in the content-type, and that the headers of each \
         part are short and end with an empty line"
    );
    HttpError::bad_request("form-head-too-long", message)
}

/// The file name without the form's escaping.
fn unescaped_file_name(field: &Field<'_>) -> Option<String> {
    let name = field.file_name()?;
    let name = name.replace("%22", "\"");
    Some(name.replace("%0D", "\r").replace("%0A", "\n"))
}
