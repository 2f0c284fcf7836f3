//! A new skill, or a new version of one.

use std::convert::Infallible;

use prowess_skill::{Layout, Skill};
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;

use crate::Progress;
use crate::connection::{Client, read, segment};
use crate::error::Error;
use crate::record::{SkillRecord, VersionRecord};

/// Bytes handed on at once.
const CHUNK: usize = 64 << 10;

/// What becomes of a skill that is sent.
#[derive(Debug, Clone, Default)]
pub enum Target {
    /// A version of the skill of its name, else a new skill.
    #[default]
    Named,
    /// A new skill, whatever others are called.
    New,
    /// A version of this skill, by id or name.
    Skill(String),
}

/// How a skill is sent.
#[derive(Clone, Default)]
pub struct Push {
    /// What becomes of it.
    pub target: Target,
    /// What to call a new skill.
    pub title: Option<String>,
    /// Make the new version the default.
    pub default: bool,
    /// Make a version even if nothing has changed.
    pub always: bool,
    /// Told the bytes as they are sent.
    pub progress: Option<Progress>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// The skill's id.
    pub skill: String,
    /// The version.
    pub version: VersionRecord,
    /// `created`, `unchanged` or `repeated`.
    pub outcome: String,
}

/// A new skill, or a new version of one.
#[derive(Debug, Deserialize)]
struct Made {
    id: String,
    skill_id: Option<String>,
}

impl Client {
    /// Sends a skill. Nothing is sent when the latest version has the same files, unless
    /// that is wanted.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses it.
    pub async fn push(&self, skill: &Skill, push: &Push) -> Result<Pushed, Error> {
        let target = match &push.target {
            Target::New => None,
            Target::Named => self.named(&skill.name).await?,
            Target::Skill(id) => Some(self.find(id).await?),
        };
        let Some(target) = target else {
            return self.upload(skill, push, "/skills").await;
        };
        if !push.always
            && let Some(version) = self.same(&target, skill).await?
        {
            return Ok(Pushed {
                skill: target.id,
                version,
                outcome: "unchanged".to_owned(),
            });
        }
        let path = format!("/skills/{}/versions", segment(&target.id));
        self.upload(skill, push, &path).await
    }

    /// The latest version, if it has the same files.
    async fn same(
        &self,
        target: &SkillRecord,
        skill: &Skill,
    ) -> Result<Option<VersionRecord>, Error> {
        let path = format!("/skills/{}/versions/latest", segment(&target.id));
        let response = self.send(self.request(Method::GET, &path)).await?;
        let digest = response.headers().get("prowess-digest").cloned();
        let version = read(response).await?;
        let ours = skill.manifest.digest().to_string();
        Ok(digest
            .is_some_and(|theirs| theirs == ours.as_str())
            .then_some(version))
    }

    async fn upload(&self, skill: &Skill, push: &Push, path: &str) -> Result<Pushed, Error> {
        let form = form(skill, push)?;
        let mut request = self.request(Method::POST, path).multipart(form);
        if !push.always {
            request = request.header("prowess-unchanged", "keep");
        }
        let response = self.send(request).await?;
        let outcome = response.headers().get("prowess-outcome");
        let outcome = outcome.and_then(|value| value.to_str().ok());
        let outcome = outcome.unwrap_or("created").to_owned();
        let made: Made = read(response).await?;
        let id = made.skill_id.unwrap_or(made.id);
        let latest = format!("/skills/{}/versions/latest", segment(&id));
        Ok(Pushed {
            version: self.get(&latest).await?,
            skill: id,
            outcome,
        })
    }
}

fn form(skill: &Skill, push: &Push) -> Result<Form, Error> {
    let unpackable = |why: String| Error::Unpackable {
        skill: skill.name.clone(),
        why,
    };
    let layout = Layout::wrapped(&skill.name).map_err(|error| unpackable(error.to_string()))?;
    let zip = skill.bundle.to_zip(&layout);
    let zip = zip.map_err(|error| unpackable(error.to_string()))?;
    let length = zip.len() as u64;
    let part = Part::stream_with_length(body(zip, push.progress.clone()), length);
    let part = part.file_name(format!("{}.zip", skill.name));
    let part = part.mime_str("application/zip").map_err(Error::NoClient)?;
    let mut form = Form::new().part("files", part);
    if let Some(title) = &push.title {
        form = form.text("display_name", title.clone());
    }
    if push.default {
        form = form.text("default", "true");
    }
    Ok(form)
}

/// A body that tells of its pieces as they are sent.
fn body(data: Vec<u8>, progress: Option<Progress>) -> reqwest::Body {
    let pieces: Vec<Vec<u8>> = data.chunks(CHUNK).map(<[u8]>::to_vec).collect();
    let pieces = pieces.into_iter().map(move |piece| {
        if let Some(tell) = &progress {
            tell(piece.len() as u64);
        }
        Ok::<_, Infallible>(piece)
    });
    reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))
}
