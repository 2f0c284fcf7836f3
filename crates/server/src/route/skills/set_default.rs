//! `POST /v1/skills/{skill}`: which version is meant when none is named.

use axum::extract::{FromRequest, Request, State};
use prowess_store::VersionSelector;
use serde::Deserialize;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::{Json, Path};
use crate::{ids, render};

#[derive(Debug, Deserialize)]
struct Change {
    default_version: Version,
}

/// Clients write the integer as a text or as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Version {
    Text(String),
    Number(u64),
}

pub(crate) async fn set_default(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<axum::Json<Value>, ApiError> {
    caller.may(Need::PublishSkills)?;
    let Json(change): Json<Change> = Json::from_request(request, &app).await?;
    let selector = match change.default_version {
        Version::Text(text) => VersionSelector::parse(&text)?,
        Version::Number(number) => VersionSelector::parse(&number.to_string())?,
    };
    let store = app.store();
    let id = ids::skill(&id);
    let skill = store
        .set_default_version(&caller.tenant, id, &selector)
        .await?;
    Ok(axum::Json(match dialect {
        Dialect::Anthropic(betas) => render::anthropic::skill(&skill, betas.skills),
        Dialect::OpenAi => render::openai::skill(&skill)?,
    }))
}
