//! Containers and their files, as the API has them, and as people read them.

use serde::Deserialize;

use crate::format::{self, Moment};
use crate::preview::{container_file_preview_url, container_file_url};
use crate::query::segment;

/// A container.
#[derive(Debug, Deserialize)]
pub(crate) struct ContainerAnswer {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: String,
    created_at: i64,
    last_active_at: i64,
    expires_after: Expiry,
    #[serde(default)]
    size_bytes: u64,
    #[serde(default)]
    pub(crate) memory_limit: String,
    network_policy: NetworkAnswer,
    /// Only one container alone has them.
    #[serde(default)]
    pub(crate) skills: Vec<ContainerSkill>,
}

#[derive(Debug, Deserialize)]
struct Expiry {
    minutes: i64,
}

#[derive(Debug, Deserialize)]
struct NetworkAnswer {
    #[serde(default)]
    allowed_domains: Vec<String>,
}

/// A skill of a container.
#[derive(Debug, Deserialize)]
pub(crate) struct ContainerSkill {
    pub(crate) skill_id: String,
    pub(crate) version_id: String,
}

impl ContainerSkill {
    pub(crate) fn url(&self) -> String {
        format!("/console/skills/{}", segment(&self.skill_id))
    }
}

impl ContainerAnswer {
    pub(crate) fn url(&self) -> String {
        format!("/console/containers/{}", segment(&self.id))
    }

    /// Its name, or its id if it has none.
    pub(crate) fn label(&self) -> &str {
        if self.name.is_empty() {
            &self.id
        } else {
            &self.name
        }
    }

    pub(crate) fn created(&self) -> Option<Moment> {
        Moment::from_seconds(self.created_at)
    }

    pub(crate) fn last_used(&self) -> Option<Moment> {
        Moment::from_seconds(self.last_active_at)
    }

    /// When it is deleted if nobody uses it.
    pub(crate) fn expires(&self) -> Option<Moment> {
        let seconds = self.expires_after.minutes.saturating_mul(60);
        Moment::from_seconds(self.last_active_at.saturating_add(seconds))
    }

    pub(crate) fn size(&self) -> String {
        format::bytes(self.size_bytes)
    }

    /// What its code may reach.
    pub(crate) fn network(&self) -> String {
        match self.network_policy.allowed_domains.as_slice() {
            [] => "off".to_owned(),
            domains => domains.join(", "),
        }
    }
}

/// A file in a container.
#[derive(Debug, Deserialize)]
pub(crate) struct ContainerFileAnswer {
    id: String,
    container_id: String,
    pub(crate) path: String,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    source: String,
    created_at: Option<i64>,
}

impl ContainerFileAnswer {
    pub(crate) fn url(&self) -> String {
        container_file_url(&self.container_id, &self.id)
    }

    pub(crate) fn preview_url(&self) -> String {
        container_file_preview_url(&self.container_id, &self.id)
    }

    pub(crate) fn size(&self) -> String {
        format::bytes(self.bytes)
    }

    /// Who wrote it.
    pub(crate) fn maker(&self) -> &'static str {
        match self.source.as_str() {
            "assistant" => "a run",
            _ => "a client",
        }
    }

    pub(crate) fn created(&self) -> Option<Moment> {
        Moment::from_seconds(self.created_at?)
    }
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct ContainerPage<T> {
    pub(crate) data: Vec<T>,
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

impl<T> ContainerPage<T> {
    /// The id after which the next page begins.
    pub(crate) fn next(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|_| self.has_more)
    }
}
