//! `/v1/admin/keys`: one file per verb. `body` has what clients send, `key_json` what they get.

mod body;
pub(super) mod create;
pub(super) mod get;
mod key_json;
pub(super) mod list;
pub(super) mod revoke;
pub(super) mod rotate;
pub(super) mod update;

use prowess_store::KeyGranter;

use crate::auth::Principal;

/// What a principal may give to keys.
fn granter(principal: &Principal) -> KeyGranter<'_> {
    match principal.key() {
        Some(key) => KeyGranter::Key(key),
        None => KeyGranter::Operator,
    }
}
