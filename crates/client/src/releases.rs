//! Labels, notes, revocations, comparisons and imports of skills.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::connection::{Client, encode_query, encode_segment, read_json};
use crate::error::Error;
use crate::record::RemoteVersion;

/// A label of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteLabel {
    /// Its name.
    pub name: String,
    /// The version that it points to: 1, 2, 3, …
    pub version: String,
    /// The id of that version.
    pub version_id: String,
    /// Whether only keys with the scope `release` may move it.
    pub protected: bool,
    /// When it was set or moved.
    pub updated_at: String,
}

/// A version with what is said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionState {
    /// The version.
    #[serde(flatten)]
    pub version: RemoteVersion,
    /// The labels that point to it.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What people say about it.
    #[serde(default)]
    pub notes: Option<String>,
    /// Why it cannot be used, if it is revoked.
    #[serde(default)]
    pub revoked: Option<RemoteRevocation>,
}

/// Why a version cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRevocation {
    /// As whoever revoked it says.
    pub reason: String,
    /// When it was revoked.
    pub at: String,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The URL.
    pub url: String,
    /// Each skill that the URL names.
    #[serde(rename = "data")]
    pub skills: Vec<ImportedSkill>,
}

/// A skill of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedSkill {
    /// Its name, if it is known.
    pub name: Option<String>,
    /// Its own URL, if it is known.
    pub url: Option<String>,
    /// `created`, `unchanged` or `refused`.
    pub outcome: String,
    /// Whether the skill is new, and not only its version.
    pub created_skill: bool,
    /// The skill.
    pub skill_id: Option<String>,
    /// The version: 1, 2, 3, …
    pub version: Option<String>,
    /// The id of the version.
    pub version_id: Option<String>,
    /// The digest of its files.
    pub digest: Option<String>,
    /// Why it is refused.
    pub error: Option<String>,
}

/// How skills are imported.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions<'a> {
    /// Create a version of this skill; default: the one of the same name.
    pub skill_id: Option<&'a str>,
    /// What to say about new versions.
    pub notes: Option<&'a str>,
    /// Make new versions the default.
    pub default: bool,
}

#[derive(Debug, Deserialize)]
struct LabelList {
    data: Vec<RemoteLabel>,
}

impl Client {
    /// The labels of a skill, by name.
    ///
    /// # Errors
    /// When there is no such skill.
    pub async fn labels(&self, id: &str) -> Result<Vec<RemoteLabel>, Error> {
        let path = format!("/skills/{}/labels", encode_segment(id));
        let list: LabelList = self.get(&path).await?;
        Ok(list.data)
    }

    /// Makes a label point to a version: creates it, or moves it.
    ///
    /// # Errors
    /// When there is no such version, or the key may not move the label.
    pub async fn set_label(
        &self,
        id: &str,
        label: &str,
        version: &str,
    ) -> Result<RemoteLabel, Error> {
        let body = json!({ "version": version });
        self.post_json(&label_path(id, label), &body).await
    }

    /// Deletes a label.
    ///
    /// # Errors
    /// When there is no such label, or the key may not delete it.
    pub async fn delete_label(&self, id: &str, label: &str) -> Result<(), Error> {
        let request = self.request(Method::DELETE, &label_path(id, label));
        self.send(request).await.map(drop)
    }

    /// The versions of a skill with what is said about them, newest first.
    ///
    /// # Errors
    /// When there is no such skill.
    pub async fn version_states(&self, id: &str) -> Result<Vec<VersionState>, Error> {
        let path = format!("/skills/{}/versions", encode_segment(id));
        self.list_all(&path, &[]).await
    }

    /// Sets or removes the notes of a version.
    ///
    /// # Errors
    /// When there is no such version, or the notes are too long.
    pub async fn set_notes(
        &self,
        id: &str,
        version: &str,
        notes: Option<&str>,
    ) -> Result<VersionState, Error> {
        let path = version_path(id, version);
        self.post_json(&path, &json!({ "notes": notes })).await
    }

    /// Revokes a version; the default and labels that point to it move to another one, if one
    /// is named.
    ///
    /// # Errors
    /// When there is no such version, or it is in use and nothing says where its uses move.
    pub async fn revoke_version(
        &self,
        id: &str,
        version: &str,
        reason: &str,
        move_to: Option<&str>,
    ) -> Result<VersionState, Error> {
        let path = format!("{}/revoke", version_path(id, version));
        let body = json!({ "reason": reason, "move_to": move_to });
        self.post_json(&path, &body).await
    }

    /// Lets a revoked version be used again.
    ///
    /// # Errors
    /// When there is no such version.
    pub async fn restore_version(&self, id: &str, version: &str) -> Result<VersionState, Error> {
        let path = format!("{}/restore", version_path(id, version));
        self.post_json(&path, &json!({})).await
    }

    /// What differs between two versions, as the server describes it.
    ///
    /// # Errors
    /// When there is no such skill or version.
    pub async fn compare_versions(
        &self,
        id: &str,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<Value, Error> {
        let from = from.map(|version| ("from", version));
        let to = to.map(|version| ("to", version));
        let query: Vec<(&str, &str)> = from.into_iter().chain(to).collect();
        let (skill, query) = (encode_segment(id), encode_query(&query));
        self.get(&format!("/skills/{skill}/compare?{query}")).await
    }

    /// Has the server create skills and versions from what a URL names.
    ///
    /// # Errors
    /// When nothing can be fetched, or the server does not import.
    pub async fn import(
        &self,
        url: &str,
        options: &ImportOptions<'_>,
    ) -> Result<ImportReport, Error> {
        let body = json!({
            "url": url,
            "skill_id": options.skill_id,
            "notes": options.notes,
            "default": options.default,
        });
        self.post_json("/skills/import", &body).await
    }

    async fn post_json<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, Error> {
        let request = self.request(Method::POST, path).json(body);
        read_json(self.send(request).await?).await
    }
}

fn label_path(id: &str, label: &str) -> String {
    format!(
        "/skills/{}/labels/{}",
        encode_segment(id),
        encode_segment(label)
    )
}

fn version_path(id: &str, version: &str) -> String {
    format!(
        "/skills/{}/versions/{}",
        encode_segment(id),
        encode_segment(version)
    )
}
