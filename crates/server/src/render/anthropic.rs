//! Anthropic's objects: in the beta format, and in the format since general availability.

use prowess_store::{FileRecord, RecordPage, SkillRecord, VersionRecord};
use serde_json::{Value, json};

use super::release::version_fields;
use super::rfc3339;

/// A skill. `beta` selects the format of `skills-2025-10-02`.
pub(crate) fn skill(skill: &SkillRecord, beta: bool) -> Value {
    let latest = skill.latest.as_ref();
    let mut object = json!({
        "id": skill.id,
        "type": "skill",
        "created_at": rfc3339(skill.created_at),
        "updated_at": rfc3339(skill.updated_at),
    });
    let own = if beta {
        json!({
            "display_title": skill.title,
            "latest_version": latest.map(|version| version.number.to_string()),
            "source": skill.source.as_str(),
        })
    } else {
        json!({
            "display_name": skill.display_name(),
            "latest_version_id": latest.map(|version| &version.id),
            "source": { "type": skill.source.as_str() },
        })
    };
    merge(&mut object, own);
    object
}

/// A version of a skill.
pub(crate) fn version(version: &VersionRecord, beta: bool) -> Value {
    let mut object = json!({
        "id": version.id,
        "type": "skill_version",
        "skill_id": version.skill,
        "name": version.name,
        "description": version.description,
        "created_at": rfc3339(version.created_at),
    });
    merge(&mut object, version_fields(version));
    if beta {
        merge(
            &mut object,
            json!({
                "directory": version.folder.as_ref().unwrap_or(&version.name),
                "version": version.number.to_string(),
            }),
        );
    }
    object
}

/// A file.
pub(crate) fn file(file: &FileRecord) -> Value {
    let mut object = json!({
        "id": file.id,
        "type": "file",
        "filename": file.name,
        "mime_type": file.mime,
        "size_bytes": file.size,
        "created_at": rfc3339(file.created_at),
        "downloadable": file.downloadable,
        "expires_at": file.expires_at.map(rfc3339),
    });
    if let Some(session) = &file.scope {
        merge(
            &mut object,
            json!({ "scope": { "type": "session", "id": session } }),
        );
    }
    object
}

/// A page of a list; the beta has `has_more` as well.
pub(crate) fn page(page: RecordPage<Value>, beta: bool) -> Value {
    let more = page.has_more();
    let next = page.next.map(|cursor| cursor.encode());
    let mut list = json!({ "data": page.items, "next_page": next });
    if beta {
        merge(&mut list, json!({ "has_more": more }));
    }
    list
}

/// A page whose cursors are ids.
pub(crate) fn page_by_id(page: RecordPage<Value>) -> Value {
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    json!({
        "first_id": id(page.items.first()),
        "last_id": id(page.items.last()),
        "has_more": page.has_more(),
        "data": page.items,
    })
}

/// The response to a deletion: `skill_deleted`, `skill_version_deleted`, `file_deleted`.
pub(crate) fn deleted(id: &str, kind: &str) -> Value {
    json!({ "id": id, "type": kind })
}

fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}
