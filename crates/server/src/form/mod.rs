//! Multipart bodies, as the SDKs really send them, read within bounds.
//!
//! | module | owns |
//! |---|---|
//! | `skill` | the files of a skill, held in memory up to the skill's limits |
//! | `file` | one file of any size, kept on disk while it comes in |
//! | `text` | the short fields beside them |

mod file;
mod skill;
mod text;

use std::time::Duration;

use axum::extract::multipart::Field;
use bytes::Bytes;

pub(crate) use file::FileForm;
pub(crate) use skill::{Part, SkillForm};

use crate::error::ApiError;

/// The next piece of a part, unless the client has gone quiet.
async fn chunk(field: &mut Field<'_>, idle: Duration) -> Result<Option<Bytes>, ApiError> {
    match tokio::time::timeout(idle, field.chunk()).await {
        Ok(chunk) => Ok(chunk?),
        Err(_) => Err(ApiError::new(
            axum::http::StatusCode::REQUEST_TIMEOUT,
            "body-stalled",
            format!("no byte of the body came for {} seconds", idle.as_secs()),
        )),
    }
}

/// A file's name as it was before the form escaped it.
fn file_name(field: &Field<'_>) -> Option<String> {
    let name = field.file_name()?;
    let name = name.replace("%22", "\"");
    Some(name.replace("%0D", "\r").replace("%0A", "\n"))
}
