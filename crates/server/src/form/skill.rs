//! A form with a skill: its files, or fields to build it from.

use axum::extract::Request;
use axum::extract::multipart::Field;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use prowess_skill::BundleLimits;

use super::{FormReader, SkillFields, text, unescaped_file_name, urlencoded};
use crate::app::App;
use crate::bodies::BodyReservation;
use crate::error::HttpError;

/// An uploaded skill, as sent.
#[derive(Debug, Default)]
pub(crate) struct SkillForm {
    /// `display_name`, or `display_title` in Anthropic's beta.
    pub(crate) title: Option<String>,
    /// `default`, as in OpenAI's API.
    pub(crate) make_default: bool,
    /// `notes`: what is said about the version. Only Prowess has it.
    pub(crate) notes: Option<String>,
    /// `custom_llm_provider`, as in LiteLLM.
    pub(crate) provider: Option<String>,
    /// `description`, `instructions` and `metadata`, as in LiteLLM.
    pub(crate) fields: SkillFields,
    /// The files: individual files with their paths, or one archive. Empty when the fields
    /// describe the skill.
    pub(crate) files: Vec<FormFile>,
}

/// One file of a form.
#[derive(Debug, Clone)]
pub(crate) struct FormFile {
    pub(crate) name: String,
    pub(crate) mime: Option<String>,
    pub(crate) data: Bytes,
}

impl SkillForm {
    /// Reads the form of a request. The reservation counts its files, and must be held as long
    /// as they are.
    pub(crate) async fn read(
        request: Request,
        app: &App,
        reservation: &mut BodyReservation<'_>,
    ) -> Result<SkillForm, HttpError> {
        let mut reader = SkillFormReader {
            form: SkillForm::default(),
            limits: &app.settings().skill_limits,
            bytes: 0,
            has_default: false,
            unknown: None,
            reservation,
        };
        match FormKind::from_headers(request.headers()) {
            // With nothing to send, OpenAI's client posts an empty JSON object.
            None => return Err(no_files_error()),
            Some(FormKind::Multipart) => reader.read_multipart(request, app).await?,
            Some(FormKind::UrlEncoded) => {
                let fields =
                    urlencoded::read_fields(request.into_body(), app, reader.reservation).await?;
                for (name, value) in fields {
                    reader.set_text(&name, value)?;
                }
            }
        }
        reader.finish()
    }
}

/// The encoding of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormKind {
    Multipart,
    /// Used by many clients for a form without files.
    UrlEncoded,
}

impl FormKind {
    /// The form encoding according to the headers; none when the body is not a form.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<FormKind> {
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

struct SkillFormReader<'a, 'b> {
    form: SkillForm,
    limits: &'a BundleLimits,
    bytes: u64,
    /// Whether `default` was sent.
    has_default: bool,
    /// The first unknown field.
    unknown: Option<String>,
    reservation: &'a mut BodyReservation<'b>,
}

impl SkillFormReader<'_, '_> {
    async fn read_multipart(&mut self, request: Request, app: &App) -> Result<(), HttpError> {
        let (mut multipart, mut reader) = FormReader::open(request, app).await?;
        while let Some(field) = reader.next_part(&mut multipart).await? {
            self.read_field(field, &mut reader).await?;
        }
        Ok(())
    }

    async fn read_field(
        &mut self,
        field: Field<'_>,
        reader: &mut FormReader,
    ) -> Result<(), HttpError> {
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        match name.as_str() {
            "files" | "files[]" => self.read_file(field, reader).await,
            _ if is_file => Err(text::invalid_field(
                &name,
                "a skill's files are sent in `files[]`, not in this field",
            )),
            _ => {
                let limit = SkillFields::max_bytes(&name).unwrap_or(text::MAX_TEXT_BYTES);
                let value = text::read_within(field, reader, limit).await?;
                self.reservation.grow(value.len()).await?;
                self.set_text(&name, value)
            }
        }
    }

    fn set_text(&mut self, name: &str, value: String) -> Result<(), HttpError> {
        let form = &mut self.form;
        match name {
            "display_name" | "display_title" => set_once(&mut form.title, name, value),
            "default" if self.has_default => {
                Err(text::invalid_field(name, "was sent twice; send it once"))
            }
            "default" => {
                form.make_default = text::parse_flag(name, &value)?;
                self.has_default = true;
                Ok(())
            }
            "notes" => set_once(&mut form.notes, name, value),
            "custom_llm_provider" => set_once(&mut form.provider, name, value),
            // LiteLLM selects a provider account with it. Skills stored here are available to
            // every model, so it is ignored.
            "model" => Ok(()),
            _ if form.fields.set_field(name, &value)? => Ok(()),
            // Read the rest first, so that a broken form is reported as such.
            _ => {
                self.unknown.get_or_insert_with(|| name.to_owned());
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<SkillForm, HttpError> {
        if let Some(name) = self.unknown {
            return Err(unknown_field_error(&name));
        }
        if self.form.files.is_empty() && self.form.fields.is_empty() {
            return Err(no_files_error());
        }
        Ok(self.form)
    }

    async fn read_file(
        &mut self,
        mut field: Field<'_>,
        reader: &mut FormReader,
    ) -> Result<(), HttpError> {
        if self.form.files.len() >= self.limits.entries {
            let message = format!("the skill has more than {} files", self.limits.entries);
            return Err(HttpError::bad_request("too-many-entries", message));
        }
        let name = unescaped_file_name(&field).unwrap_or_else(|| "SKILL.md".to_owned());
        let mime = field.content_type().map(str::to_owned);
        let mut data = BytesMut::new();
        while let Some(chunk) = reader.next_chunk(&mut field).await? {
            self.bytes = self.bytes.saturating_add(chunk.len() as u64);
            let limit = self.limits.total_bytes.max(self.limits.archive_bytes);
            if self.bytes > limit {
                let message = format!("the skill is larger than the {limit} bytes allowed");
                let status = axum::http::StatusCode::PAYLOAD_TOO_LARGE;
                return Err(HttpError::new(status, "body-too-large", message));
            }
            self.reservation.grow(chunk.len()).await?;
            data.extend_from_slice(&chunk);
        }
        let data = data.freeze();
        self.form.files.push(FormFile { name, mime, data });
        Ok(())
    }
}

/// Sets a field that may occur once. An empty value counts as not sent.
fn set_once(field: &mut Option<String>, name: &str, value: String) -> Result<(), HttpError> {
    if value.is_empty() {
        return Ok(());
    }
    match field.replace(value) {
        Some(_) => Err(text::invalid_field(name, "was sent twice; send it once")),
        None => Ok(()),
    }
}

fn unknown_field_error(name: &str) -> HttpError {
    let why = match name {
        "" => "every form field needs a name: name this one, or remove it",
        _ => {
            "unknown field. Remove it; the fields of a skill are `files[]`, `display_name` (or \
            `display_title`), `description`, `instructions`, `metadata`, `default`, `notes` and \
            `custom_llm_provider`"
        }
    };
    text::field_error("form-field-unknown", name, why)
}

fn no_files_error() -> HttpError {
    HttpError::bad_request(
        "skill-files-missing",
        "no skill in this request: send its files, including a SKILL.md, or one zip as \
        multipart/form-data in `files[]`; or send `display_title`, `description` and \
        `instructions` to generate a SKILL.md",
    )
}
