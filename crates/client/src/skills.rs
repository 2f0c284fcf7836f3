//! Finds, lists, downloads and deletes skills of a server.

use prowess_skill::{Bundle, BundleLimits};
use reqwest::Method;

use crate::ProgressCallback;
use crate::connection::{Client, encode_segment};
use crate::error::Error;
use crate::record::{RemoteSkill, RemoteVersion};

/// Prefixes of ids; anything else is a name.
const ID_PREFIXES: [&str; 3] = ["skill_", "litellm_skill_", "litellm:"];

impl Client {
    /// All skills, newest first, or those that match a query, best first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn skills(&self, query: Option<&str>) -> Result<Vec<RemoteSkill>, Error> {
        let query: Vec<_> = query.map(|query| ("query", query)).into_iter().collect();
        self.list_all("/skills", &query).await
    }

    /// The skill with an id or a name.
    ///
    /// # Errors
    /// When there is none, or several have the name.
    pub async fn find(&self, skill: &str) -> Result<RemoteSkill, Error> {
        if ID_PREFIXES.iter().any(|prefix| skill.starts_with(prefix)) {
            return self
                .get(&format!("/skills/{}", encode_segment(skill)))
                .await;
        }
        let found = self.find_by_name(skill).await?;
        found.ok_or_else(|| Error::NotFound(skill.to_owned()))
    }

    /// The skill of a name, if there is one.
    pub(crate) async fn find_by_name(&self, name: &str) -> Result<Option<RemoteSkill>, Error> {
        let mut named: Vec<RemoteSkill> = self.list_all("/skills", &[("name", name)]).await?;
        if named.len() > 1 {
            return Err(Error::Ambiguous {
                name: name.to_owned(),
                ids: named.into_iter().map(|skill| skill.id).collect(),
            });
        }
        Ok(named.pop())
    }

    /// The versions of a skill, newest first.
    ///
    /// # Errors
    /// When there is no such skill.
    pub async fn versions(&self, id: &str) -> Result<Vec<RemoteVersion>, Error> {
        let path = format!("/skills/{}/versions", encode_segment(id));
        self.list_all(&path, &[]).await
    }

    /// Makes a version the default one.
    ///
    /// # Errors
    /// When there is no such version.
    pub async fn set_default(&self, id: &str, version: &str) -> Result<RemoteSkill, Error> {
        let request = self.request(Method::POST, &format!("/skills/{}", encode_segment(id)));
        let body = serde_json::json!({ "default_version": version });
        crate::connection::read_json(self.send(request.json(&body)).await?).await
    }

    /// The files of a version: `latest`, an integer or an id. The download is
    /// checked like any other source.
    ///
    /// # Errors
    /// When there is no such version, or it is not a skill.
    pub async fn download(
        &self,
        id: &str,
        version: &str,
        progress: Option<ProgressCallback>,
    ) -> Result<Bundle, Error> {
        let (skill, version) = (encode_segment(id), encode_segment(version));
        let path = format!("/skills/{skill}/versions/{version}/content");
        let mut response = self.send(self.request(Method::GET, &path)).await?;
        let limits = BundleLimits::default();
        let mut zip = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(Error::InvalidResponse)? {
            zip.extend_from_slice(&chunk);
            if let Some(report) = &progress {
                report(chunk.len() as u64);
            }
            if zip.len() as u64 > limits.archive_bytes {
                return Err(Error::TooLarge(limits.archive_bytes));
            }
        }
        Bundle::from_zip(&zip, &limits).map_err(|error| Error::NotASkill {
            skill: id.to_owned(),
            error,
        })
    }

    /// Deletes a skill with all its versions, or one version of it. When that is the last
    /// one, the skill is deleted too.
    ///
    /// # Errors
    /// When there is no such skill or version.
    pub async fn delete(&self, id: &str, version: Option<&str>) -> Result<(), Error> {
        let mut path = format!("/skills/{}", encode_segment(id));
        if let Some(version) = version {
            path.push_str(&format!("/versions/{}", encode_segment(version)));
        }
        self.send(self.request(Method::DELETE, &path)).await?;
        Ok(())
    }
}
