//! `POST /v1/skills/{skill}/versions`

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::upload::{Wishes, answer};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::form::SkillForm;
use crate::settings::SkillsAt;
use crate::upstream::{self, Told};
use crate::{ids, intake, render};

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
    app.store().skill(&caller.tenant, id).await?;
    let intake = intake::take(form.files, &app.settings().skill_limits).await?;
    let new = wishes.version(&intake, form.make_default);
    let uploaded = app.store().create_version(&caller.tenant, id, &new).await?;
    let object = match dialect {
        Dialect::Anthropic(betas) => render::anthropic::version(&uploaded.version, betas.skills),
        Dialect::OpenAi => render::openai::version(&uploaded.version),
    };
    Ok(answer(object, &uploaded))
}
