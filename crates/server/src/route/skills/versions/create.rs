//! `POST /v1/skills/{skill}/versions`

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use prowess_store::SkillRecord;
use prowess_wire::excerpt;

use super::super::upload::{Wishes, answer};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::form::SkillForm;
use crate::settings::SkillsAt;
use crate::upstream::{self, Told};
use crate::{composed, ids, render};

pub(crate) async fn create(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    told: Told,
    headers: HeaderMap,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    caller.may(Need::PublishSkills)?;
    let wishes = Wishes::of(&headers)?;
    let path = request.uri().path().to_owned();
    let _turn = app.transfers().skill(&caller.tenant).await?;
    let mut reservation = app.bodies().reserve(&caller.tenant);
    let form = SkillForm::read(request, &app, &mut reservation).await?;
    if told.or_form(&form, &app)? == SkillsAt::Anthropic {
        let path = upstream::path(&path)?;
        return upstream::create(&app, &caller, &headers, &path, form).await;
    }
    let id = ids::skill(&id);
    // Before the work of unpacking, and so that a wrong id is told as such.
    let skill = app.store().skill(&caller.tenant, id).await?;
    check_title(form.title.as_deref(), &skill)?;
    let make_default = form.make_default;
    let limits = &app.settings().skill_limits;
    let intake = composed::take(form, Some(&skill.name), limits).await?;
    let new = wishes.version(&intake, make_default);
    let uploaded = app.store().create_version(&caller.tenant, id, &new).await?;
    let object = match dialect {
        Dialect::Anthropic(betas) => render::anthropic::version(&uploaded.version, betas.skills),
        Dialect::OpenAi => render::openai::version(&uploaded.version),
    };
    Ok(answer(object, &uploaded))
}

/// A version has no name of its own, and does not rename its skill.
fn check_title(title: Option<&str>, skill: &SkillRecord) -> Result<(), ApiError> {
    let Some(title) = title.filter(|title| *title != skill.display_name()) else {
        return Ok(());
    };
    let message = format!(
        "display_name: a version cannot rename its skill, which is called `{}`, to `{}`: leave \
         the field out, or create a new skill",
        excerpt(skill.display_name()),
        excerpt(title)
    );
    Err(ApiError::bad_request("skill-title-fixed", message).with("param", "display_name"))
}
