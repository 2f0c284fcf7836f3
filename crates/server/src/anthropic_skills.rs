//! Forwards requests to Anthropic's skills API.
//!
//! `custom_llm_provider=anthropic`, in the query, a header or the form, or as the configured
//! default, forwards a request about skills to the account at Anthropic and returns its
//! response unchanged. The account belongs to the server's owner, so only the default tenant
//! may use it: others would see its skills.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use prowess_provider::Env;
use prowess_store::TenantId;
use prowess_wire::excerpt;
use reqwest::multipart;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::bodies::paced_body;
use crate::error::HttpError;
use crate::extract::Query;
use crate::form::{FormKind, SkillForm};
use crate::settings::{AnthropicAccount, SkillsLocation};

const PROVIDER_PARAM: &str = "custom_llm_provider";
const PROVIDER_HEADER: &str = "custom-llm-provider";
/// Client headers that are forwarded to Anthropic.
const FORWARDED_HEADERS: [&str; 4] = [
    "anthropic-version",
    "anthropic-beta",
    "accept",
    "content-type",
];
/// Response headers that are returned to clients.
const RETURNED_HEADERS: [&str; 6] = [
    "content-type",
    "content-disposition",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];

/// The account at Anthropic, and its HTTP client.
pub(crate) struct AnthropicSkills {
    account: AnthropicAccount,
    client: Option<reqwest::Client>,
}

impl AnthropicSkills {
    pub(crate) fn new(account: AnthropicAccount) -> AnthropicSkills {
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(120))
            .redirect(reqwest::redirect::Policy::none());
        AnthropicSkills {
            account,
            client: client.build().ok(),
        }
    }

    /// A request to the account, with the forwarded client headers.
    fn request(
        &self,
        method: Method,
        path_and_query: &str,
        headers: &HeaderMap,
    ) -> Result<reqwest::RequestBuilder, HttpError> {
        let client = self.client.as_ref().ok_or_else(|| {
            HttpError::internal("upstream-client", &"cannot create the HTTP client")
        })?;
        let base = self.account.base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let key = self.account.api_key.look_up(&Env::from_process());
        let key = key.map_err(|error| unconfigured_error(&error.to_string()))?;
        let mut request = client
            .request(method, format!("{base}{path_and_query}"))
            .header("x-api-key", key.expose());
        if !headers.contains_key("anthropic-version") {
            request = request.header("anthropic-version", "2023-06-01");
        }
        for name in FORWARDED_HEADERS {
            for value in headers.get_all(name) {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }
}

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
    let upstream = authorize(&app, &principal, &parts.method)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default()).without(PROVIDER_PARAM);
    let path = upstream_path(parts.uri.path())?;
    let target = if query.is_empty() {
        path
    } else {
        format!("{path}?{query}")
    };
    let limit = app.settings().skill_limits.total_bytes + (4 << 20);
    let body = http_body_util::Limited::new(body, usize::try_from(limit).unwrap_or(usize::MAX));
    let body = reqwest::Body::wrap_stream(paced_body(Body::new(body), app.settings()));
    let mut outgoing = upstream.request(parts.method.clone(), &target, &parts.headers)?;
    if parts.method == Method::POST {
        outgoing = outgoing.body(body);
    }
    send(outgoing).await
}

/// Forwards an upload that was read already.
pub(crate) async fn create_skill(
    app: &App,
    principal: &Principal,
    headers: &HeaderMap,
    path: &str,
    form: SkillForm,
) -> Result<Response, HttpError> {
    let upstream = authorize(app, principal, &Method::POST)?;
    check_fields(&form)?;
    let mut multipart = multipart::Form::new();
    if let Some(title) = form.title {
        let beta = headers.get_all("anthropic-beta").iter().any(|betas| {
            betas
                .to_str()
                .is_ok_and(|betas| betas.contains("skills-2025-10-02"))
        });
        let field = if beta {
            "display_title"
        } else {
            "display_name"
        };
        multipart = multipart.text(field, title);
    }
    for file in form.files {
        let size = file.data.len() as u64;
        let mut part = multipart::Part::stream_with_length(file.data, size).file_name(file.name);
        if let Some(mime) = file.mime.filter(|mime| mime.contains('/')) {
            part = part.mime_str(&mime).map_err(|_| {
                HttpError::bad_request("form-field-invalid", "a file's type is not a media type")
            })?;
        }
        multipart = multipart.part("files[]", part);
    }
    let mut headers = headers.clone();
    headers.remove(CONTENT_TYPE);
    let outgoing = upstream.request(Method::POST, path, &headers)?;
    send(outgoing.multipart(multipart)).await
}

/// Rejects fields that Anthropic's forms do not have.
fn check_fields(form: &SkillForm) -> Result<(), HttpError> {
    let default = form.make_default.then_some("default");
    let Some(field) = form.fields.first_present().or(default) else {
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
            "no key for Anthropic is configured; set ANTHROPIC_API_KEY for the server, or write \
             a provider of kind `anthropic` with its api_key in prowess.toml",
        )
    })
}

fn unconfigured_error(why: &str) -> HttpError {
    let message = format!("Anthropic's skills API cannot be used: {why}");
    HttpError::bad_request("skill-provider-unconfigured", message)
}

/// The path at Anthropic of a route without its mount. Its segments are only ids and fixed
/// words: nothing in it may lead elsewhere in the API.
pub(crate) fn upstream_path(path: &str) -> Result<String, HttpError> {
    let plain = |part: &str| {
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':');
        !part.is_empty() && part.bytes().all(letter)
    };
    let below = path.strip_prefix("/skills").unwrap_or("//");
    if below.split('/').skip(1).all(plain) {
        return Ok(format!("/v1/skills{below}"));
    }
    let message = format!("skill not found: {}", excerpt(path));
    Err(HttpError::new(
        StatusCode::NOT_FOUND,
        "skill-not-found",
        message,
    ))
}

async fn send(request: reqwest::RequestBuilder) -> Result<Response, HttpError> {
    let upstream_response = request.send().await.map_err(|error| {
        tracing::warn!(error = %error.without_url(), "Anthropic's skills API is unreachable");
        let message = "Anthropic's skills API is unreachable; try again";
        HttpError::new(StatusCode::BAD_GATEWAY, "upstream-unreachable", message)
    })?;
    let mut response = upstream_response.status().into_response();
    for name in RETURNED_HEADERS {
        if let Some(value) = upstream_response.headers().get(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    *response.body_mut() = Body::from_stream(upstream_response.bytes_stream());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_skills_are_sent_on() {
        assert_eq!(upstream_path("/skills").unwrap(), "/v1/skills");
        let versions = "/skills/skill_1/versions";
        assert_eq!(upstream_path(versions).unwrap(), format!("/v1{versions}"));
        for hostile in [
            "/skills/../messages",
            "/skills/%2e%2e/messages",
            "/skills/a%2Fb",
            "/skills//",
            "/skills/",
            "/files",
        ] {
            assert!(upstream_path(hostile).is_err(), "{hostile}");
        }
    }
}
