//! OpenAI's objects.

use prowess_store::{FileRecord, SkillRecord, VersionRecord, VersionRef};
use serde_json::{Value, json};

use super::release::version_fields;
use crate::error::HttpError;

/// A skill. One without versions cannot be represented in this dialect.
pub(crate) fn skill(skill: &SkillRecord) -> Result<Value, HttpError> {
    let (Some(default), Some(latest)) = (&skill.default, &skill.latest) else {
        return Err(HttpError::from(prowess_store::Error::NoVersion {
            skill: skill.id.clone(),
        }));
    };
    let integer = |version: &VersionRef| version.ordinal.to_string();
    Ok(json!({
        "id": skill.id,
        "object": "skill",
        "name": skill.name,
        "description": default.description,
        "default_version": integer(default),
        "latest_version": integer(latest),
        "created_at": skill.created_at.as_seconds(),
    }))
}

/// A version of a skill.
pub(crate) fn version(version: &VersionRecord) -> Value {
    let mut object = json!({
        "id": version.id,
        "object": "skill.version",
        "skill_id": version.skill,
        "version": version.ordinal.to_string(),
        "name": version.name,
        "description": version.description,
        "created_at": version.created_at.as_seconds(),
    });
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), version_fields(version))
    {
        object.extend(fields);
    }
    object
}

/// A file.
pub(crate) fn file(file: &FileRecord) -> Value {
    json!({
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.created_at.as_seconds(),
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "expires_at": file.expires_at.map(|at| at.as_seconds()),
    })
}

/// A file stored by Anthropic, from Anthropic's metadata.
pub(crate) fn provider_file(id: &str, about: &Value) -> Value {
    json!({
        "id": id,
        "object": "file",
        "bytes": bytes(about),
        "created_at": unix_seconds(about, "created_at").unwrap_or_default(),
        "filename": filename(about).unwrap_or(id),
        "purpose": "assistants_output",
        "status": "processed",
        "expires_at": unix_seconds(about, "expires_at"),
    })
}

/// The same as a container file. Its path in the container is unknown.
pub(crate) fn provider_container_file(container: &str, id: &str, about: &Value) -> Value {
    json!({
        "id": id,
        "object": "container.file",
        "container_id": container,
        "path": filename(about).unwrap_or(id),
        "bytes": bytes(about),
        "source": "assistant",
        "created_at": unix_seconds(about, "created_at").unwrap_or_default(),
    })
}

fn filename(about: &Value) -> Option<&str> {
    about.get("filename")?.as_str()
}

fn bytes(about: &Value) -> u64 {
    let bytes = about.get("size_bytes").and_then(Value::as_u64);
    bytes.unwrap_or_default()
}

fn unix_seconds(about: &Value, key: &str) -> Option<i64> {
    let at: jiff::Timestamp = about.get(key)?.as_str()?.parse().ok()?;
    Some(at.as_second())
}

/// A list. The client requests the next page with the last id.
pub(crate) fn list(items: Vec<Value>, has_more: bool) -> Value {
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    json!({
        "object": "list",
        "first_id": id(items.first()),
        "last_id": id(items.last()),
        "has_more": has_more,
        "data": items,
    })
}

/// The response to a deletion: `skill.deleted`, `file`, ….
pub(crate) fn deleted(id: &str, object: &str) -> Value {
    json!({ "id": id, "object": object, "deleted": true })
}
