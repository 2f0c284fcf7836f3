//! Stored skills of a server.

use std::sync::Arc;

use prowess_client::{Client, PushOptions, PushTarget};
use prowess_skill::{LoadOptions, Skill as Checked};
use pyo3::prelude::*;
use serde_json::json;

use crate::failure::PyFailure;
use crate::skill::Skill;
use crate::work::Work;

/// A connection to a server.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Server(Arc<Client>);

/// How to upload a skill: the attributes of `prowess._stored._Upload`.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) struct UploadRequest {
    /// The skill to create a version of.
    pub(crate) version_of: Option<String>,
    /// Create a version of the skill with the same name, if it exists.
    pub(crate) named: bool,
    pub(crate) title: Option<String>,
    /// Make the version the default.
    pub(crate) default: bool,
    /// Create a version even if nothing has changed.
    pub(crate) always: bool,
}

#[pymethods]
impl Server {
    #[new]
    fn new(server: Option<&str>, key: Option<String>) -> PyResult<Self> {
        let client = Client::new(server, key).map_err(PyFailure::from)?;
        Ok(Server(Arc::new(client)))
    }

    /// The server's URL.
    fn url(&self) -> &str {
        self.0.server()
    }

    /// Uploads a skill: as a new one, or as a version of an existing one.
    fn push(&self, skill: PyRef<'_, Skill>, options: UploadRequest) -> PyResult<Work> {
        skill.check_for_upload()?;
        let (client, skill) = (Arc::clone(&self.0), Arc::clone(&skill.checked));
        let push = PushOptions {
            target: match (options.version_of, options.named) {
                (Some(skill), _) => PushTarget::Skill(skill),
                (None, true) => PushTarget::ByName,
                (None, false) => PushTarget::New,
            },
            title: options.title,
            default: options.default,
            notes: None,
            force: options.always,
            progress: None,
        };
        Ok(Work::new(async move {
            let pushed = client.push(&skill, &push).await?;
            let stored = client.find(&pushed.skill).await?;
            let result = json!({
                "skill": stored, "version": pushed.version, "outcome": pushed.outcome,
            });
            Ok(result.to_string())
        }))
    }

    /// All skills, or those that match a query, as JSON.
    fn list(&self, query: Option<String>) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move { Ok(json!(client.skills(query.as_deref()).await?).to_string()) })
    }

    /// One skill, by id or name, as JSON.
    fn get(&self, skill: String) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move { Ok(json!(client.find(&skill).await?).to_string()) })
    }

    /// The versions of a skill, as JSON.
    fn versions(&self, skill: String) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move {
            let skill = client.find(&skill).await?;
            Ok(json!(client.versions(&skill.id).await?).to_string())
        })
    }

    /// Makes a version the default; returns the skill as JSON.
    fn set_default(&self, skill: String, version: String) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move {
            let skill = client.find(&skill).await?;
            Ok(json!(client.set_default(&skill.id, &version).await?).to_string())
        })
    }

    /// A version with all its files.
    fn load(&self, skill: String, version: Option<String>) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move {
            let stored = client.find(&skill).await?;
            let version = version.as_ref().unwrap_or(&stored.default_version);
            let bundle = client.download(&stored.id, version, None).await?;
            let loaded = Checked::load(bundle, &LoadOptions::default());
            match loaded.skill {
                Some(skill) => Ok(Skill::from_checked(Arc::new(skill))),
                None => Err(PyFailure::not_a_skill(&stored.id, &loaded.diagnostics)),
            }
        })
    }

    /// Deletes a skill, or one version of it.
    fn delete(&self, skill: String, version: Option<String>) -> Work {
        let client = Arc::clone(&self.0);
        Work::new(async move {
            let skill = client.find(&skill).await?;
            Ok(client.delete(&skill.id, version.as_deref()).await?)
        })
    }

    /// There is nothing to close.
    fn close(&self) -> Work {
        Work::new(async { Ok(()) })
    }
}
