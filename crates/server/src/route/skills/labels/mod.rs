//! `/v1/skills/{skill}/labels`: one file per verb. No vendor has such routes, so all dialects get
//! the same.

pub(super) mod delete;
pub(super) mod list;
pub(super) mod set;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;

/// Fails unless the key may set and delete a label of this name.
fn require_label(app: &App, principal: &Principal, label: &str) -> Result<(), HttpError> {
    let mut protected = app.settings().protected_labels.iter();
    if protected.any(|name| name == label) {
        principal.require(Permission::ReleaseSkills)
    } else {
        principal.require(Permission::PublishSkills)
    }
}
