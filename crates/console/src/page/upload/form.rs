//! The files of a form, within limits of size, count and time.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use prowess_server::PageForm;

use crate::api::PageError;

/// Files of a form; several skills may have so many together.
const MAX_FILES: usize = 4_000;
/// Bytes of a field that is no file.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// How long a form may take to arrive: it holds a permit.
const MAX_TIME: Duration = Duration::from_secs(180);

/// A file as the browser sent it.
#[derive(Debug, Clone)]
pub(super) struct SentFile {
    /// With the folders that it was in.
    pub(super) name: String,
    pub(super) data: Bytes,
}

/// What the form has.
#[derive(Debug, Default)]
pub(super) struct SentForm {
    pub(super) files: Vec<SentFile>,
    /// The skill that gets a version.
    pub(super) skill: Option<String>,
}

/// Reads a form. The size of its body is limited by the route.
pub(super) async fn read(form: &mut PageForm) -> Result<SentForm, PageError> {
    let read = tokio::time::timeout(MAX_TIME, read_all(form)).await;
    read.map_err(|_| PageError {
        status: StatusCode::REQUEST_TIMEOUT,
        message: "the files took too long to arrive; send fewer at once".to_owned(),
    })?
}

async fn read_all(form: &mut PageForm) -> Result<SentForm, PageError> {
    let mut sent = SentForm::default();
    while let Some(field) = form.next_field().await? {
        let is_skill = field.name == "skill";
        let data = field.data;
        match field.file_name {
            // A field for files in which none was chosen.
            Some(name) if name.is_empty() && data.is_empty() => {}
            Some(name) => {
                if sent.files.len() >= MAX_FILES {
                    let message = format!("these are more than {MAX_FILES} files; send fewer");
                    return Err(PageError::bad_request(message));
                }
                sent.files.push(SentFile { name, data });
            }
            None if is_skill && data.len() <= MAX_TEXT_BYTES => {
                let id = String::from_utf8_lossy(&data).trim().to_owned();
                sent.skill = Some(id).filter(|id| !id.is_empty());
            }
            None => {}
        }
    }
    Ok(sent)
}
