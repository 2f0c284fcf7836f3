//! Requests about skills at Anthropic: which requests these are, and who may send them.
//!
//! `custom_llm_provider=anthropic`, in the query, a header or the form, or as the configured
//! default, forwards a request about skills to the account at Anthropic and returns its
//! response unchanged. The account belongs to the operator, so only the default tenant
//! may use it: others would see its skills. `prowess-provider` sends the requests.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use prowess_provider::{
    AnthropicSkills, CallError, SkillUpload, SkillUploadFile, SkillsPath, SkillsRequest,
    SkillsResponse,
};
use prowess_store::TenantId;
use prowess_wire::excerpt;

use crate::app::App;
use crate::audit::ChangedElsewhere;
use crate::auth::{Permission, Principal};
use crate::bodies::paced_body;
use crate::error::HttpError;
use crate::extract::Query;
use crate::form::{FormFile, FormKind, SkillForm};
use crate::settings::SkillsLocation;

const PROVIDER_PARAM: &str = "custom_llm_provider";
const PROVIDER_HEADER: &str = "custom-llm-provider";

/// The location that a request selects by its query or a header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedLocation(Option<SkillsLocation>);

impl RequestedLocation {
    fn from_parts(parts: &Parts) -> Result<RequestedLocation, HttpError> {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let header = parts.headers.get(PROVIDER_HEADER);
        let header = header.and_then(|value| value.to_str().ok());
        let named = query.get(PROVIDER_PARAM).or(header);
        named.map(parse_provider).transpose().map(RequestedLocation)
    }

    /// The form may select it too; else the configured default applies.
    pub(crate) fn or_form_location(
        self,
        form: &SkillForm,
        app: &App,
    ) -> Result<SkillsLocation, HttpError> {
        let formed = form.provider.as_deref().map(parse_provider).transpose()?;
        Ok(self.0.or(formed).unwrap_or(app.settings().skills_location))
    }
}

impl<S: Sync> FromRequestParts<S> for RequestedLocation {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        RequestedLocation::from_parts(parts)
    }
}

fn parse_provider(name: &str) -> Result<SkillsLocation, HttpError> {
    match name {
        "anthropic" => Ok(SkillsLocation::Anthropic),
        "litellm_proxy" | "prowess" | "" => Ok(SkillsLocation::Store),
        other => {
            let other = excerpt(other);
            let message = format!(
                "{PROVIDER_PARAM}: unknown skill provider `{other}`; use `anthropic`, or \
                `litellm_proxy` for the skills stored here"
            );
            Err(HttpError::bad_request("skill-provider-unknown", message)
                .with_detail("param", PROVIDER_PARAM))
        }
    }
}

/// Forwards requests for Anthropic; passes all others on.
pub(crate) async fn divert(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, HttpError> {
    let (mut parts, body) = request.into_parts();
    let requested = RequestedLocation::from_parts(&parts)?;
    // A form may select the location; its handler decides.
    let undecided = requested.0.is_none() && FormKind::from_headers(&parts.headers).is_some();
    if undecided || requested.0.unwrap_or(app.settings().skills_location) == SkillsLocation::Store {
        return Ok(next.run(Request::from_parts(parts, body)).await);
    }
    let principal = Principal::from_request_parts(&mut parts, &app).await?;
    let skills = authorize(&app, &principal, &parts.method)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default()).without(PROVIDER_PARAM);
    let limit = app.settings().skill_limits.total_bytes + (4 << 20);
    let body = http_body_util::Limited::new(body, usize::try_from(limit).unwrap_or(usize::MAX));
    let body = Body::from_stream(paced_body(Body::new(body), app.settings()));
    let request = SkillsRequest {
        path: skills_path(parts.uri.path())?,
        query: &query,
        headers: &parts.headers,
        method: parts.method.clone(),
    };
    let body = (parts.method == Method::POST).then_some(body);
    to_response(skills.forward(request, body).await)
}

/// Forwards an upload that was read already, to a route's path without its mount.
pub(crate) async fn create_skill(
    app: &App,
    principal: &Principal,
    headers: &HeaderMap,
    path: &str,
    form: SkillForm,
) -> Result<Response, HttpError> {
    let path = skills_path(path)?;
    let skills = authorize(app, principal, &Method::POST)?;
    check_fields(&form)?;
    let files: Result<Vec<_>, _> = form.files.into_iter().map(upload_file).collect();
    let upload = SkillUpload {
        title: form.title,
        files: files?,
    };
    to_response(skills.upload(path, headers, upload).await)
}

fn upload_file(file: FormFile) -> Result<SkillUploadFile, HttpError> {
    let content_type = file.mime.filter(|mime| mime.contains('/'));
    let content_type = content_type.map(HeaderValue::try_from).transpose();
    Ok(SkillUploadFile {
        name: file.name,
        content_type: content_type.map_err(|_| {
            HttpError::bad_request("form-field-invalid", "a file's type is not a media type")
        })?,
        data: file.data,
    })
}

/// Rejects fields that Anthropic's forms do not have.
fn check_fields(form: &SkillForm) -> Result<(), HttpError> {
    let default = form.make_default.then_some("default");
    let notes = form.notes.as_ref().map(|_| "notes");
    let Some(field) = form.fields.first_present().or(default).or(notes) else {
        return Ok(());
    };
    let message = format!(
        "{field}: Anthropic's skills API has no such field: remove it, or store the skill here \
        with {PROVIDER_PARAM}=litellm_proxy"
    );
    Err(HttpError::bad_request("form-field-unknown", message).with_detail("param", field))
}

fn authorize<'a>(
    app: &'a App,
    principal: &Principal,
    method: &Method,
) -> Result<&'a AnthropicSkills, HttpError> {
    principal.require(match *method {
        Method::GET | Method::HEAD => Permission::ReadSkills,
        _ => Permission::PublishSkills,
    })?;
    if principal.tenant != TenantId::default_tenant() {
        let message = "the skills at Anthropic belong to this server's own account; \
                       your tenant has none there";
        return Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "skill-provider-tenant",
            message,
        ));
    }
    app.anthropic_skills().ok_or_else(|| {
        unconfigured_error(
            "no API key for Anthropic is configured; set ANTHROPIC_API_KEY for the server, or write \
             a provider of kind `anthropic` with its api_key in prowess.toml",
        )
    })
}

fn unconfigured_error(why: &str) -> HttpError {
    let message = format!("Anthropic's skills API cannot be used: {why}");
    HttpError::bad_request("skill-provider-unconfigured", message)
}

/// The path at Anthropic of a route without its mount.
fn skills_path(path: &str) -> Result<SkillsPath, HttpError> {
    SkillsPath::parse(path).ok_or_else(|| {
        let message = format!("skill not found: {}", excerpt(path));
        HttpError::new(StatusCode::NOT_FOUND, "skill-not-found", message)
    })
}

fn to_response(outcome: Result<SkillsResponse, CallError>) -> Result<Response, HttpError> {
    let answer = outcome.map_err(|error| match error {
        CallError::Key { error, .. } => unconfigured_error(&error.to_string()),
        error => {
            tracing::warn!(%error, "Anthropic's skills API is unreachable");
            let message = "Anthropic's skills API is unreachable; try again";
            HttpError::new(StatusCode::BAD_GATEWAY, "upstream-unreachable", message)
        }
    })?;
    let mut response = Response::new(Body::from_stream(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response.extensions_mut().insert(ChangedElsewhere);
    Ok(response)
}
