//! A version after it was revoked or restored, for `--json` of both commands.

use prowess_client::{RemoteSkill, VersionState};
use serde_json::{Value, json};

pub(super) fn revocation_json(skill: &RemoteSkill, state: &VersionState) -> Value {
    json!({
        "skill": skill.id,
        "name": skill.name,
        "version": state.version.version,
        "version_id": state.version.id,
        "revoked": state.revoked,
    })
}
