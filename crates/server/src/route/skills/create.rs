//! `POST /v1/skills`

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use prowess_store::{NewSkill, SkillSource};

use super::upload::{Wishes, answer};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::composed;
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::form::SkillForm;
use crate::render;
use crate::settings::SkillsAt;
use crate::upstream::{self, Told};

/// The longest display name, as Anthropic has it.
const MAX_TITLE: usize = 255;

pub(crate) async fn create(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    told: Told,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    caller.may(Need::PublishSkills)?;
    let wishes = Wishes::of(&headers)?;
    let _turn = app.transfers().skill(&caller.tenant).await?;
    let mut reservation = app.bodies().reserve(&caller.tenant);
    let form = SkillForm::read(request, &app, &mut reservation).await?;
    if told.or_form(&form, &app)? == SkillsAt::Anthropic {
        return upstream::create(&app, &caller, &headers, "/v1/skills", form).await;
    }
    create_here(&app, dialect, &caller, &wishes, form).await
}

async fn create_here(
    app: &App,
    dialect: Dialect,
    caller: &Caller,
    wishes: &Wishes,
    form: SkillForm,
) -> Result<Response, ApiError> {
    let beta = matches!(dialect, Dialect::Anthropic(betas) if betas.skills);
    let (title, make_default) = (form.title.clone(), form.make_default);
    check_title(title.as_deref())?;
    let intake = composed::take(form, None, &app.settings().skill_limits).await?;
    let new = NewSkill {
        version: wishes.version(&intake, make_default),
        title: title.as_deref(),
        unique_title: beta,
        source: SkillSource::Custom,
    };
    let uploaded = app.store().create_skill(&caller.tenant, &new).await?;
    let object = match dialect {
        Dialect::Anthropic(_) => render::anthropic::skill(&uploaded.skill, beta),
        Dialect::OpenAi => render::openai::skill(&uploaded.skill)?,
    };
    Ok(answer(object, &uploaded))
}

fn check_title(title: Option<&str>) -> Result<(), ApiError> {
    let Some(title) = title else {
        return Ok(());
    };
    let why = if title.chars().count() > MAX_TITLE {
        format!("has more than {MAX_TITLE} characters")
    } else if title.chars().any(char::is_control) {
        "is not a single line of text".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("display_name: the skill's display name {why}");
    Err(ApiError::bad_request("skill-title-invalid", message).with("param", "display_name"))
}
