//! `POST /v1/skills`

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use prowess_skill::BundleLimits;
use prowess_skill::misleading::describe_misleading;
use prowess_store::{NewSkill, SkillSource, Store, TenantId};

use super::labelled;
use super::upload::{UploadOptions, upload_response};
use crate::anthropic_skills::{self, RequestedLocation};
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::form::SkillForm;
use crate::form::transfers::TransferPermit;
use crate::render;
use crate::settings::SkillsLocation;
use crate::skill_compose;

/// Maximum length of a display name, as in Anthropic's API.
const MAX_TITLE_CHARS: usize = 255;

pub(crate) async fn create(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    requested: RequestedLocation,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let options = UploadOptions::from_headers(&headers)?;
    let permit = app
        .transfers()
        .acquire_skill_upload(&principal.tenant)
        .await?;
    let mut reservation = app.body_budget().reserve(&principal.tenant);
    let form = SkillForm::read(request, &app, &mut reservation).await?;
    if requested.or_form_location(&form, &app)? == SkillsLocation::Anthropic {
        return anthropic_skills::create_skill(&app, &principal, &headers, "/skills", form).await;
    }
    let target = UploadStore {
        app: &app,
        store: &store,
        tenant: &principal.tenant,
        limits: &app.settings().skill_limits,
        permit: Arc::new(permit),
    };
    create_in_store(&target, dialect, &options, form).await
}

/// Where a skill is stored, and within which limits.
struct UploadStore<'a> {
    app: &'a App,
    store: &'a Store,
    tenant: &'a TenantId,
    limits: &'a BundleLimits,
    permit: Arc<TransferPermit>,
}

async fn create_in_store(
    target: &UploadStore<'_>,
    dialect: ApiDialect,
    options: &UploadOptions,
    form: SkillForm,
) -> Result<Response, HttpError> {
    let beta = matches!(dialect, ApiDialect::Anthropic(betas) if betas.skills);
    let (title, notes) = (form.title.clone(), form.notes.clone());
    let make_default = form.make_default;
    check_title(title.as_deref())?;
    let checked = skill_compose::skill_from_form(form, None, target.limits, &target.permit).await?;
    let new = NewSkill {
        version: options.new_version(&checked, make_default, notes.as_deref()),
        title: title.as_deref(),
        unique_title: beta,
        source: SkillSource::Custom,
    };
    let uploaded = target.store.create_skill(target.tenant, &new).await?;
    let object = match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::skill(&uploaded.skill, beta),
        ApiDialect::OpenAi => render::openai::skill(&uploaded.skill)?,
    };
    let object = labelled::skill(target.app, target.tenant, object).await?;
    Ok(upload_response(object, &uploaded))
}

fn check_title(title: Option<&str>) -> Result<(), HttpError> {
    let Some(title) = title else {
        return Ok(());
    };
    let why = if title.chars().count() > MAX_TITLE_CHARS {
        format!("has more than {MAX_TITLE_CHARS} characters")
    } else if let Some(why) = describe_misleading(title) {
        why
    } else {
        return Ok(());
    };
    let message = format!("display_name: the skill's display name {why}");
    Err(HttpError::bad_request("skill-title-invalid", message).with_detail("param", "display_name"))
}
