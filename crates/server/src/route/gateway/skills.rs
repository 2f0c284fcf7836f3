//! Skills that a request names: none of them may be lost on the way.
//!
//! Skills of the upstream's own travel on untouched when it speaks the client's
//! dialect. Running skills of our store in a request is not possible yet, so a request
//! that names one is refused rather than answered without it.

use axum::http::StatusCode;
use prowess_provider::{Route, Target, Task};
use prowess_store::{Error as StoreError, TenantId};
use prowess_wire::Client;
use prowess_wire::raw::RawObject;
use serde_json::Value;

use crate::app::App;
use crate::error::ApiError;
use crate::ids;

/// More are refused before any is looked up.
const MAX_SKILLS: usize = 20;

/// Refuses a request whose skills would be lost.
pub(super) async fn check(
    app: &App,
    tenant: &TenantId,
    client: Client,
    raw: &RawObject<'_>,
    route: &Route,
) -> Result<(), ApiError> {
    let named = named(client, raw);
    if named.is_empty() {
        return Ok(());
    }
    if named.len() > MAX_SKILLS {
        let message = format!(
            "a request may name {MAX_SKILLS} skills; it names {}",
            named.len()
        );
        return Err(ApiError::bad_request("skills-too-many", message));
    }
    for skill in named.iter().filter_map(Named::id) {
        if is_stored(app, tenant, skill).await? {
            return Err(not_yet(&format!("skill `{}`", skill.escape_debug())));
        }
    }
    if route.targets().iter().all(|target| has_own(target, client)) {
        return Ok(());
    }
    match named.iter().find_map(Named::id) {
        Some(id) => Err(unknown(id, route)),
        None => Err(not_yet("a skill sent in the request")),
    }
}

/// A skill as a request names it.
enum Named {
    Id(String),
    /// It is in the request itself.
    Inline,
}

impl Named {
    fn of(skill: &Value) -> Named {
        match skill.get("skill_id").and_then(Value::as_str) {
            Some(id) => Named::Id(id.to_owned()),
            None => Named::Inline,
        }
    }

    fn id(&self) -> Option<&str> {
        match self {
            Named::Id(id) => Some(id),
            Named::Inline => None,
        }
    }
}

/// All skills of a request. Bodies that say nothing of skills are not parsed.
fn named(client: Client, raw: &RawObject<'_>) -> Vec<Named> {
    let peek = raw.peek();
    let parsed = |key| {
        let text = raw.get(key).unwrap_or_default();
        serde_json::from_str::<Value>(text).unwrap_or_default()
    };
    let holders = match client {
        Client::Messages | Client::Chat if peek.container => vec![parsed("container")],
        Client::Responses if peek.tool_skills => environments(parsed("tools")),
        _ => Vec::new(),
    };
    let skills = holders.iter().filter_map(|holder| holder.get("skills"));
    let skills = skills.filter_map(Value::as_array).flatten();
    skills.map(Named::of).collect()
}

fn environments(mut tools: Value) -> Vec<Value> {
    let tools = tools.as_array_mut().into_iter().flatten();
    let environments = tools.filter_map(|tool| tool.get_mut("environment"));
    environments.map(Value::take).collect()
}

async fn is_stored(app: &App, tenant: &TenantId, id: &str) -> Result<bool, ApiError> {
    match app.store().skill(tenant, ids::skill(id)).await {
        Ok(_) => Ok(true),
        Err(StoreError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether an upstream knows skills of its own, and gets the client's words as they are.
fn has_own(target: &Target, client: Client) -> bool {
    let vendor = match client {
        Client::Messages => target.kind() == "anthropic",
        Client::Responses => matches!(target.kind(), "openai" | "azure"),
        Client::Chat => false,
    };
    vendor && target.speaks(client, Task::Generate)
}

fn not_yet(what: &str) -> ApiError {
    let message = format!(
        "{what}: running skills in a request is not available here yet; leave it out of the request"
    );
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "skills-not-available", message).permanent()
}

fn unknown(id: &str, route: &Route) -> ApiError {
    let message = format!(
        "skill `{}` not found: it is not stored here, and the provider of model `{}` has no \
         skills of its own",
        id.escape_debug(),
        route.name().escape_debug()
    );
    ApiError::new(StatusCode::NOT_FOUND, "skill-not-found", message)
}
