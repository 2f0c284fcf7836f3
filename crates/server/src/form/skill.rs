//! A form with a skill: its files, or fields to make one of.

use axum::extract::Request;
use axum::extract::multipart::Field;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use prowess_skill::Limits;

use super::{Flow, SkillFields, file_name, text, urlencoded};
use crate::app::App;
use crate::bodies::Reservation;
use crate::error::ApiError;

/// An uploaded skill, as it was sent.
#[derive(Debug, Default)]
pub(crate) struct SkillForm {
    /// `display_name`, or `display_title` in Anthropic's beta.
    pub(crate) title: Option<String>,
    /// `default`, as OpenAI has it.
    pub(crate) make_default: bool,
    /// `custom_llm_provider`, as LiteLLM has it.
    pub(crate) provider: Option<String>,
    /// `description`, `instructions` and `metadata`, as LiteLLM has them.
    pub(crate) fields: SkillFields,
    /// The files: loose ones with their paths, or one archive. There are none when the
    /// fields say what the skill is.
    pub(crate) files: Vec<Part>,
}

/// One file of a form.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) mime: Option<String>,
    pub(crate) data: Bytes,
}

impl SkillForm {
    /// Reads the form of a request. Its files are counted by the reservation, which is to
    /// be kept for as long as they are.
    pub(crate) async fn read(
        request: Request,
        app: &App,
        reservation: &mut Reservation<'_>,
    ) -> Result<SkillForm, ApiError> {
        let mut reader = Reader {
            form: SkillForm::default(),
            limits: &app.settings().skill_limits,
            bytes: 0,
            unknown: None,
            reservation,
        };
        match FormKind::of(request.headers()) {
            // With nothing to send, OpenAI's client posts an empty JSON object.
            None => return Err(no_files()),
            Some(FormKind::Multipart) => reader.read_multipart(request, app).await?,
            Some(FormKind::UrlEncoded) => {
                let fields = urlencoded::read(request.into_body(), app, reader.reservation).await?;
                for (name, value) in fields {
                    reader.text(&name, value)?;
                }
            }
        }
        reader.finish()
    }
}

/// How a form is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormKind {
    Multipart,
    /// As many clients write a form that has no files.
    UrlEncoded,
}

impl FormKind {
    /// What the headers say that the body is; none when it is no form.
    pub(crate) fn of(headers: &HeaderMap) -> Option<FormKind> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.to_ascii_lowercase();
        if kind.starts_with("multipart/form-data") {
            Some(FormKind::Multipart)
        } else if kind.starts_with("application/x-www-form-urlencoded") {
            Some(FormKind::UrlEncoded)
        } else {
            None
        }
    }
}

struct Reader<'a, 'b> {
    form: SkillForm,
    limits: &'a Limits,
    bytes: u64,
    /// The first field that means nothing here.
    unknown: Option<String>,
    reservation: &'a mut Reservation<'b>,
}

impl Reader<'_, '_> {
    async fn read_multipart(&mut self, request: Request, app: &App) -> Result<(), ApiError> {
        let (mut multipart, mut flow) = Flow::of(request, app).await?;
        while let Some(field) = flow.part(&mut multipart).await? {
            self.take(field, &mut flow).await?;
        }
        Ok(())
    }

    async fn take(&mut self, field: Field<'_>, flow: &mut Flow) -> Result<(), ApiError> {
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        match name.as_str() {
            "files" | "files[]" => self.file(field, flow).await,
            _ if is_file => Err(text::invalid(
                &name,
                "a skill's files are sent in `files[]`, not in this field",
            )),
            _ => {
                let limit = SkillFields::max_bytes(&name).unwrap_or(text::MAX_TEXT);
                let value = text::read_within(field, flow, limit).await?;
                self.reservation.grow(value.len()).await?;
                self.text(&name, value)
            }
        }
    }

    fn text(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        let form = &mut self.form;
        match name {
            "display_name" | "display_title" => set(&mut form.title, name, value),
            "default" => {
                form.make_default = text::flag(name, &value)?;
                Ok(())
            }
            "custom_llm_provider" => set(&mut form.provider, name, value),
            // LiteLLM chooses an account of a provider by it. Skills that are stored here
            // are for every model, also for this one.
            "model" => Ok(()),
            _ if form.fields.take(name, &value)? => Ok(()),
            // The rest is read first, so that a form which is broken is called that.
            _ => {
                self.unknown.get_or_insert_with(|| name.to_owned());
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<SkillForm, ApiError> {
        if let Some(name) = self.unknown {
            return Err(unknown(&name));
        }
        if self.form.files.is_empty() && self.form.fields.is_empty() {
            return Err(no_files());
        }
        Ok(self.form)
    }

    async fn file(&mut self, mut field: Field<'_>, flow: &mut Flow) -> Result<(), ApiError> {
        if self.form.files.len() >= self.limits.entries {
            let message = format!("the skill has more than {} files", self.limits.entries);
            return Err(ApiError::bad_request("too-many-entries", message));
        }
        let name = file_name(&field).unwrap_or_else(|| "SKILL.md".to_owned());
        let mime = field.content_type().map(str::to_owned);
        let mut data = BytesMut::new();
        while let Some(chunk) = flow.piece(&mut field).await? {
            self.bytes = self.bytes.saturating_add(chunk.len() as u64);
            let limit = self.limits.total_bytes.max(self.limits.archive_bytes);
            if self.bytes > limit {
                let message = format!("the skill is larger than the {limit} bytes allowed");
                let status = axum::http::StatusCode::PAYLOAD_TOO_LARGE;
                return Err(ApiError::new(status, "body-too-large", message));
            }
            self.reservation.grow(chunk.len()).await?;
            data.extend_from_slice(&chunk);
        }
        let data = data.freeze();
        self.form.files.push(Part { name, mime, data });
        Ok(())
    }
}

/// Fills a field that may be there once. What is empty says nothing.
fn set(place: &mut Option<String>, name: &str, value: String) -> Result<(), ApiError> {
    if value.is_empty() {
        return Ok(());
    }
    match place.replace(value) {
        Some(_) => Err(text::invalid(name, "is there twice; send it once")),
        None => Ok(()),
    }
}

fn unknown(name: &str) -> ApiError {
    let why = match name {
        "" => "every field of the form needs a name: name this one, or leave it out",
        _ => {
            "a skill has no such field. Leave it out: there are `files[]`, `display_name` (or \
             `display_title`), `description`, `instructions`, `metadata`, `default` and \
             `custom_llm_provider`"
        }
    };
    text::refused("form-field-unknown", name, why)
}

fn no_files() -> ApiError {
    ApiError::bad_request(
        "skill-files-missing",
        "no skill in this request: send its files as multipart/form-data in `files[]`, \
         with a SKILL.md among them, or one zip; or send `display_title`, `description` and \
         `instructions` to have a SKILL.md made of them",
    )
}
