//! A new skill, or a new version of one.

use std::convert::Infallible;

use prowess_skill::{ArchiveLayout, Skill};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;

use crate::ProgressCallback;
use crate::connection::{Client, encode_segment, read_json};
use crate::error::{Error, TITLE_FIXED};
use crate::record::{RemoteSkill, RemoteVersion};

/// Bytes of one chunk of the body.
const CHUNK_BYTES: usize = 64 << 10;

/// Where a pushed skill goes.
#[derive(Debug, Clone, Default)]
pub enum PushTarget {
    /// A version of the skill with the same name, or a new skill if there is none.
    #[default]
    ByName,
    /// A new skill, even if the name exists.
    New,
    /// A version of this skill, by id or name.
    Skill(String),
}

/// How a skill is pushed.
#[derive(Clone, Default)]
pub struct PushOptions {
    /// Where it goes.
    pub target: PushTarget,
    /// The title of a new skill. An existing one must have it already.
    pub title: Option<String>,
    /// Make the new version the default.
    pub default: bool,
    /// What to say about the new version.
    pub notes: Option<String>,
    /// Create a version even if nothing has changed.
    pub force: bool,
    /// Called with the bytes as they are sent.
    pub progress: Option<ProgressCallback>,
}

/// The result of a push.
#[derive(Debug, Clone)]
pub struct PushResult {
    /// The skill's id.
    pub skill: String,
    /// The version.
    pub version: RemoteVersion,
    /// `created`, `unchanged` or `repeated`.
    pub outcome: String,
}

/// A new skill, or a new version of one.
#[derive(Debug, Deserialize)]
struct CreatedObject {
    id: String,
    skill_id: Option<String>,
}

impl Client {
    /// Pushes a skill. Nothing is created if the latest version has the same files, unless
    /// `force` is set.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses it, or the skill exists with another title.
    pub async fn push(&self, skill: &Skill, options: &PushOptions) -> Result<PushResult, Error> {
        let target = match &options.target {
            PushTarget::New => None,
            PushTarget::ByName => self.find_by_name(&skill.name).await?,
            PushTarget::Skill(id) => Some(self.find(id).await?),
        };
        let Some(target) = target else {
            return self.upload(skill, options, "/skills").await;
        };
        // With a title, the server compares it to the skill's own, and keeps unchanged files too.
        if !options.force
            && options.title.is_none()
            && let Some(version) = self.unchanged_version(&target, skill).await?
        {
            return Ok(PushResult {
                skill: target.id,
                version,
                outcome: "unchanged".to_owned(),
            });
        }
        let path = format!("/skills/{}/versions", encode_segment(&target.id));
        let pushed = self.upload(skill, options, &path).await;
        pushed.map_err(|error| match (error, &options.title) {
            // The server names the field of its form, which the caller does not know.
            (Error::Refused { code, .. }, Some(title)) if code == TITLE_FIXED => {
                Error::TitleFixed {
                    skill: target.name,
                    title: title.clone(),
                }
            }
            (error, _) => error,
        })
    }

    /// The latest version, if it has the same files.
    async fn unchanged_version(
        &self,
        target: &RemoteSkill,
        skill: &Skill,
    ) -> Result<Option<RemoteVersion>, Error> {
        let path = format!("/skills/{}/versions/latest", encode_segment(&target.id));
        let response = self.send(self.request(Method::GET, &path)).await?;
        let digest = response.headers().get("prowess-digest").cloned();
        let version = read_json(response).await?;
        let ours = skill.manifest.digest().to_string();
        Ok(digest
            .is_some_and(|theirs| theirs == ours.as_str())
            .then_some(version))
    }

    async fn upload(
        &self,
        skill: &Skill,
        options: &PushOptions,
        path: &str,
    ) -> Result<PushResult, Error> {
        let form = upload_form(skill, options)?;
        let mut request = self.request(Method::POST, path).multipart(form);
        if !options.force {
            request = request.header("prowess-unchanged", "keep");
        }
        let response = self.send(request).await?;
        let outcome = response.headers().get("prowess-outcome");
        let outcome = outcome.and_then(|value| value.to_str().ok());
        let outcome = outcome.unwrap_or("created").to_owned();
        let created: CreatedObject = read_json(response).await?;
        let id = created.skill_id.unwrap_or(created.id);
        let latest = format!("/skills/{}/versions/latest", encode_segment(&id));
        Ok(PushResult {
            version: self.get(&latest).await?,
            skill: id,
            outcome,
        })
    }
}

fn upload_form(skill: &Skill, options: &PushOptions) -> Result<Form, Error> {
    let unpackable = |why: String| Error::Unpackable {
        skill: skill.name.clone(),
        why,
    };
    let layout =
        ArchiveLayout::wrapped(&skill.name).map_err(|error| unpackable(error.to_string()))?;
    let zip = skill.bundle.to_zip(&layout);
    let zip = zip.map_err(|error| unpackable(error.to_string()))?;
    let length = zip.len() as u64;
    let part = Part::stream_with_length(progress_body(zip, options.progress.clone()), length);
    let part = part.file_name(format!("{}.zip", skill.name));
    let part = part
        .mime_str("application/zip")
        .map_err(Error::HttpClient)?;
    let mut form = Form::new().part("files", part);
    if let Some(title) = &options.title {
        form = form.text("display_name", title.clone());
    }
    if let Some(notes) = &options.notes {
        form = form.text("notes", notes.clone());
    }
    if options.default {
        form = form.text("default", "true");
    }
    Ok(form)
}

/// A body that reports its progress.
fn progress_body(data: Vec<u8>, progress: Option<ProgressCallback>) -> reqwest::Body {
    let chunks: Vec<Vec<u8>> = data.chunks(CHUNK_BYTES).map(<[u8]>::to_vec).collect();
    let chunks = chunks.into_iter().map(move |chunk| {
        if let Some(report) = &progress {
            report(chunk.len() as u64);
        }
        Ok::<_, Infallible>(chunk)
    });
    reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
}
