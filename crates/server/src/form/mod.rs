//! Multipart bodies, as the SDKs really send them, read within bounds.
//!
//! | module | owns |
//! |---|---|
//! | `skill` | the files of a skill, held in memory up to the skill's limits |
//! | `file` | one file of any size, kept on disk while it comes in |
//! | `text` | the short fields beside them |
//! | `turns` | how many come in at once |

mod file;
mod skill;
mod text;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request};
use bytes::Bytes;

pub(crate) use file::FileForm;
pub(crate) use skill::{Part, SkillForm};
pub(crate) use turns::Transfers;

use crate::app::App;
use crate::bodies::{Counted, Pace};
use crate::error::ApiError;

/// How a form comes in.
struct Flow {
    pace: Pace,
    received: Arc<AtomicU64>,
}

impl Flow {
    /// The parts of a request's form, and how they come in.
    async fn of(request: Request, app: &App) -> Result<(Multipart, Flow), ApiError> {
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        let request = request.map(|body| Body::new(Counted::new(body, counted)));
        let multipart = Multipart::from_request(request, app).await?;
        let pace = Pace::new(app.settings());
        Ok((multipart, Flow { pace, received }))
    }

    /// The next part, unless the client has gone quiet.
    async fn part<'a>(&mut self, form: &'a mut Multipart) -> Result<Option<Field<'a>>, ApiError> {
        let received = || self.received.load(Ordering::Relaxed);
        Ok(self.pace.wait(form.next_field(), received).await??)
    }

    /// The next piece of a part.
    async fn piece(&mut self, field: &mut Field<'_>) -> Result<Option<Bytes>, ApiError> {
        let received = || self.received.load(Ordering::Relaxed);
        Ok(self.pace.wait(field.chunk(), received).await??)
    }
}

/// A file's name as it was before the form escaped it.
fn file_name(field: &Field<'_>) -> Option<String> {
    let name = field.file_name()?;
    let name = name.replace("%22", "\"");
    Some(name.replace("%0D", "\r").replace("%0A", "\n"))
}
