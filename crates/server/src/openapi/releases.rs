//! Bodies about labels, notes, revocations and imports of skills, which no vendor has.

use serde_json::{Map, Value, json};

use super::admin::body;
use super::parameters::VERSION;

pub(super) fn label_target_body() -> Value {
    let version = json!({
        "type": "string", "pattern": VERSION,
        "description": "The version; another label stands for the version that it points to",
    });
    let fields = Map::from_iter([("version".to_owned(), version)]);
    body(&["version"], fields, true)
}

pub(super) fn version_notes_body() -> Value {
    let fields = Map::from_iter([("notes".to_owned(), notes())]);
    body(&["notes"], fields, true)
}

pub(super) fn revocation_body() -> Value {
    // Without spaces around it and control characters in it.
    let reason = json!({ "type": "string", "pattern": "^[a-zA-Z0-9][ -~]{0,999}$" });
    let move_to = json!({
        "type": ["string", "null"], "pattern": VERSION,
        "description": "Where the default and the labels that point to the version move",
    });
    let fields = Map::from_iter([
        ("reason".to_owned(), reason),
        ("move_to".to_owned(), move_to),
    ]);
    body(&["reason"], fields, true)
}

pub(super) fn import_body() -> Value {
    let url = json!({
        "type": "string", "format": "uri", "maxLength": 2048,
        "description": "A repository's page or archive, a SKILL.md, or a site with an index of \
                        skills; `#NAME` selects one of several",
    });
    let skill = json!({
        "type": ["string", "null"],
        "description": "The skill to create a version of; default: the one of the same name",
    });
    let default = json!({
        "type": ["boolean", "null"], "description": "Make new versions the default",
    });
    let fields = Map::from_iter([
        ("url".to_owned(), url),
        ("skill_id".to_owned(), skill),
        ("notes".to_owned(), notes()),
        ("default".to_owned(), default),
    ]);
    body(&["url"], fields, true)
}

fn notes() -> Value {
    json!({ "type": ["string", "null"], "maxLength": 4000, "pattern": "^[ -~]*$" })
}
