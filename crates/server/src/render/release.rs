//! Labels, notes and revocations in the objects of skills and versions. No vendor has these
//! fields, so all dialects get the same.

use std::collections::HashMap;

use prowess_store::{LabelRecord, VersionRecord};
use serde_json::{Value, json};

use super::rfc3339;

/// A label as an object of its own.
pub(crate) fn label(label: &LabelRecord, protected: &[String]) -> Value {
    let mut object = json!({ "type": "skill_label", "skill_id": label.skill });
    if let (Some(object), Value::Object(fields)) =
        (object.as_object_mut(), label_fields(label, protected))
    {
        object.extend(fields);
    }
    object
}

/// Adds its labels to the object of a skill.
pub(crate) fn add_skill_labels(skill: &mut Value, labels: &[LabelRecord], protected: &[String]) {
    let labels = labels.iter().map(|label| label_fields(label, protected));
    let labels: Vec<Value> = labels.collect();
    insert(skill, "labels", labels.into());
}

/// Adds the names of its labels to the object of a version.
pub(crate) fn add_version_labels(version: &mut Value, labels: &[LabelRecord]) {
    let id = version
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let names = labels.iter().filter(|label| label.version_id == id);
    let names: Vec<&str> = names.map(|label| label.name.as_str()).collect();
    let names = json!(names);
    insert(version, "labels", names);
}

/// The fields of a version that only Prowess has, besides its labels.
pub(super) fn version_fields(version: &VersionRecord) -> Value {
    let revoked = version
        .revoked
        .as_ref()
        .map(|revoked| json!({ "reason": revoked.reason, "at": rfc3339(revoked.at) }));
    json!({
        "notes": version.notes,
        "revoked": revoked,
        "digest": version.digest.to_string(),
        "scan_status": version.scan_status,
        "file_count": version.file_count,
        "total_bytes": version.total_bytes,
    })
}

/// The labels of a skill among those of several.
pub(crate) fn labels_of<'a>(
    skill: &Value,
    labels: &'a HashMap<String, Vec<LabelRecord>>,
) -> &'a [LabelRecord] {
    let id = skill.get("id").and_then(Value::as_str).unwrap_or_default();
    labels.get(id).map_or(&[], Vec::as_slice)
}

fn label_fields(label: &LabelRecord, protected: &[String]) -> Value {
    json!({
        "name": label.name,
        "version": label.ordinal.to_string(),
        "version_id": label.version_id,
        "protected": protected.contains(&label.name),
        "updated_at": rfc3339(label.updated_at),
    })
}

fn insert(object: &mut Value, field: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}
