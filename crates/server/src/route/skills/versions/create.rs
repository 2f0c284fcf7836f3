//! `POST /v1/skills/{skill}/versions`

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use prowess_store::SkillRecord;
use prowess_wire::excerpt;

use super::super::upload::{UploadOptions, upload_response};
use super::render_version;
use crate::anthropic_skills::{self, RequestedLocation};
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::form::SkillForm;
use crate::settings::SkillsLocation;
use crate::{ids, skill_compose};

pub(crate) async fn create(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    requested: RequestedLocation,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<Response, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let headers = request.headers().clone();
    let options = UploadOptions::from_headers(&headers)?;
    let path = request.uri().path().to_owned();
    let permit = app
        .transfers()
        .acquire_skill_upload(&principal.tenant)
        .await?;
    let permit = Arc::new(permit);
    let mut reservation = app.body_budget().reserve(&principal.tenant);
    let form = SkillForm::read(request, &app, &mut reservation).await?;
    if requested.or_form_location(&form, &app)? == SkillsLocation::Anthropic {
        return anthropic_skills::create_skill(&app, &principal, &headers, &path, form).await;
    }
    let id = ids::canonical_skill_id(&id);
    // Before unpacking, and so that a wrong id is reported as such.
    let skill = store.skill(&principal.tenant, id).await?;
    check_title(form.title.as_deref(), &skill)?;
    let (make_default, notes) = (form.make_default, form.notes.clone());
    let limits = &app.settings().skill_limits;
    let name = Some(skill.name.as_str());
    let checked = skill_compose::skill_from_form(form, name, limits, &permit).await?;
    let new = options.new_version(&checked, make_default, notes.as_deref());
    let uploaded = store.create_version(&principal.tenant, id, &new).await?;
    let object = render_version(&app, dialect, &principal.tenant, &uploaded.version).await?;
    Ok(upload_response(object, &uploaded))
}

/// A version has no name of its own and cannot rename its skill.
fn check_title(title: Option<&str>, skill: &SkillRecord) -> Result<(), HttpError> {
    let Some(title) = title.filter(|title| *title != skill.display_name()) else {
        return Ok(());
    };
    let message = format!(
        "display_name: a version cannot rename its skill from `{}` to `{}`: remove the field, or \
        create a new skill",
        excerpt(skill.display_name()),
        excerpt(title)
    );
    Err(HttpError::bad_request("skill-title-fixed", message).with_detail("param", "display_name"))
}
