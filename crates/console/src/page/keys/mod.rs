//! `/console/keys`: the keys of a tenant; for the operator those of all tenants.
//!
//! | module | owns |
//! |---|---|
//! | `key_view` | a key, from an answer of the API |
//! | `list`, `create` | the list, and a new key |
//! | `show`, `update` | one key: its limits, a new secret, its end |
//! | `spent` | what a key has spent of its budget |
//! | `fields`, `limits` | the fields of a form, and what it has in them |

mod create;
mod fields;
mod key_view;
mod limits;
mod list;
mod show;
mod spent;
mod update;

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use serde_json::Value;

use self::key_view::ShownKey;
use crate::format::text;
use crate::layout::Layout;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/keys", get(list::list).post(create::create))
        .route(
            "/console/keys/{key}",
            get(show::show).post(update::change_limits),
        )
        .route("/console/keys/{key}/rotate", post(update::rotate))
        .route("/console/keys/{key}/revoke", post(update::revoke))
}

/// A secret that is shown this once.
#[derive(Template)]
#[template(path = "key_secret.html")]
struct SecretPage {
    layout: Layout,
    key: ShownKey,
    secret: String,
    /// Whether the key had another secret before.
    is_rotated: bool,
}

impl SecretPage {
    fn new(layout: Layout, answer: &Value, is_rotated: bool) -> SecretPage {
        SecretPage {
            layout,
            key: ShownKey::read(answer),
            secret: text(answer, "key"),
            is_rotated,
        }
    }
}

/// The tenant in the query of the API: an operator who chose one sees its keys only.
fn chosen_tenant(visitor: &Visitor) -> Option<&str> {
    visitor.tenant.as_deref().filter(|_| visitor.is_operator)
}
