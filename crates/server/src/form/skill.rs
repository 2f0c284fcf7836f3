//! A form with the files of a skill.

use axum::extract::Request;
use axum::extract::multipart::Field;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use prowess_skill::Limits;

use super::{Flow, file_name, text};
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
    /// The files: loose ones with their paths, or one archive.
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
        // With nothing to send, OpenAI's client posts an empty JSON object.
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("multipart/form-data") {
            return Err(no_files());
        }
        let (mut multipart, mut flow) = Flow::of(request, app).await?;
        let mut reader = Reader {
            form: SkillForm::default(),
            limits: &app.settings().skill_limits,
            bytes: 0,
            reservation,
        };
        while let Some(field) = flow.part(&mut multipart).await? {
            reader.take(field, &mut flow).await?;
        }
        if reader.form.files.is_empty() {
            return Err(no_files());
        }
        Ok(reader.form)
    }
}

struct Reader<'a, 'b> {
    form: SkillForm,
    limits: &'a Limits,
    bytes: u64,
    reservation: &'a mut Reservation<'b>,
}

impl Reader<'_, '_> {
    async fn take(&mut self, field: Field<'_>, flow: &mut Flow) -> Result<(), ApiError> {
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.file_name().is_some();
        match name.as_str() {
            "files" | "files[]" => self.file(field, flow).await,
            _ if is_file => Err(text::invalid(
                &name,
                "a skill's files are sent in `files[]`, not in this field",
            )),
            "display_name" | "display_title" => {
                let title = text::read(field, flow).await?;
                self.form.title = Some(title).filter(|title| !title.is_empty());
                Ok(())
            }
            "default" => {
                let value = text::read(field, flow).await?;
                self.form.make_default = text::flag(&name, &value)?;
                Ok(())
            }
            "custom_llm_provider" => {
                self.form.provider = Some(text::read(field, flow).await?);
                Ok(())
            }
            // As both vendors do; read to its end, so that its size is bounded too.
            _ => text::read(field, flow).await.map(drop),
        }
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

fn no_files() -> ApiError {
    ApiError::bad_request(
        "skill-files-missing",
        "no skill in this request: send its files as multipart/form-data in `files[]`, \
         with a SKILL.md among them, or one zip",
    )
}
