//! `POST /v1/skills/import`: creates skills and versions from what a URL names. No vendor has
//! such a route, so all dialects get the same.
//!
//! | module | owns |
//! |---|---|
//! | `fetch` | fetching within limits, from hosts that may be reached |
//! | `store` | one fetched skill to a version, or the reason against it |

mod fetch;
mod store;

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use self::store::ImportTarget;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::Json;
use crate::ids;
use crate::settings::ImportHosts;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportBody {
    url: String,
    /// The skill to create versions of; else the one of the same name.
    skill_id: Option<String>,
    notes: Option<String>,
    /// Make new versions the default.
    default: Option<bool>,
}

pub(crate) async fn import(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let Json(body): Json<ImportBody> = Json::from_request(request, &app).await?;
    if app.settings().import_hosts == ImportHosts::None {
        let message = "this server fetches no skills from URLs: `import` under [skills] in \
            prowess.toml is \"off\"; push the skill instead";
        return Err(HttpError::new(StatusCode::FORBIDDEN, "import-off", message));
    }
    let permit = app
        .transfers()
        .acquire_skill_upload(&principal.tenant)
        .await?;
    let permit = Arc::new(permit);
    let memory = app.body_budget().reserve_owned(&principal.tenant);
    let fetched = fetch::fetch(&app, &body.url, memory, &permit).await?;
    let skill_id = body.skill_id.as_deref().map(ids::canonical_skill_id);
    if let Some(id) = skill_id {
        // So that a wrong id is reported as such, and not for each skill.
        store.skill(&principal.tenant, id).await?;
    }
    let target = ImportTarget {
        store: &store,
        tenant: &principal.tenant,
        limits: &app.settings().skill_limits,
        permit: &permit,
        skill_id,
        notes: body.notes.as_deref(),
        make_default: body.default.unwrap_or_default(),
    };
    let mut data = Vec::with_capacity(fetched.skills.len());
    for skill in &fetched.skills {
        data.push(target.import(skill).await?);
    }
    data.extend(fetched.refused);
    Ok(axum::Json(json!({
        "type": "skill_import",
        "url": fetched.url,
        "data": data,
    })))
}
