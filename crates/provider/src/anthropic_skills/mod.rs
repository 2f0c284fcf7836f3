//! Anthropic's skills API: requests about the skills of one account, sent with its key and
//! returned unchanged. Who may use the account, and which requests are about it, is decided
//! by the server.
//!
//! | module | owns |
//! |---|---|
//! | `path` | paths that lead nowhere else in the API |
//! | `upload` | a new skill or version as a form |

mod path;
mod upload;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body::Body;

pub use self::path::SkillsPath;
pub use self::upload::{SkillUpload, SkillUploadFile};
use crate::config::{AnthropicOptions, Policies, ProviderConfig, ProviderKind, ProviderTimeouts};
use crate::env::Env;
use crate::error::CallError;
use crate::http::{ByteStream, HttpClient, IdleTimeoutBody, RequestBody};
use crate::key::{KeyError, KeySource};
use crate::upstream::{SkillsJob, Upstream, build_upstream};

/// The provider's name in errors.
const PROVIDER: &str = "anthropic";
/// Client headers that are sent to Anthropic.
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
/// No model has to respond, so these are shorter than for calls.
const TIMEOUTS: ProviderTimeouts = ProviderTimeouts {
    connect: Duration::from_secs(10),
    response: Duration::from_secs(120),
    idle: Duration::from_secs(120),
};

/// An account at Anthropic.
#[derive(Debug, Clone)]
pub struct AnthropicAccount {
    /// The base URL, without `/v1`.
    pub base_url: String,
    /// The source of the account's key.
    pub api_key: KeySource,
}

/// The skills of an account at Anthropic.
#[derive(Debug)]
pub struct AnthropicSkills {
    /// Where the account is; otherwise why its address cannot be used.
    endpoint: Result<SkillsEndpoint, String>,
    key: KeySource,
    env: Env,
}

#[derive(Debug)]
struct SkillsEndpoint {
    upstream: Box<dyn Upstream>,
    client: HttpClient,
}

/// A client's request about skills.
#[derive(Debug)]
pub struct SkillsRequest<'a> {
    /// The method.
    pub method: Method,
    /// What it is about.
    pub path: SkillsPath,
    /// The query, without `?`.
    pub query: &'a str,
    /// The client's headers. Only those that the API defines are sent.
    pub headers: &'a HeaderMap,
}

/// Anthropic's response about skills, unchanged.
#[derive(Debug)]
pub struct SkillsResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers that are meant for clients.
    pub headers: HeaderMap,
    /// The body.
    pub body: ByteStream,
}

impl AnthropicSkills {
    /// The skills of an account. Its key is looked up for each request, so that it can be
    /// replaced, and withdrawn, while the server runs.
    pub fn new(account: AnthropicAccount, env: Env) -> Self {
        AnthropicSkills {
            endpoint: SkillsEndpoint::build(account.base_url, &env),
            key: account.api_key,
            env,
        }
    }

    /// Sends a client's request once, without retries: the client can repeat it. A body is
    /// sent as it arrives.
    ///
    /// # Errors
    /// When there is no key, or Anthropic cannot be reached. Its own error responses are
    /// returned like any other.
    pub async fn forward<B>(
        &self,
        request: SkillsRequest<'_>,
        body: Option<B>,
    ) -> Result<SkillsResponse, CallError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        let body = match body {
            Some(body) => RequestBody::from_stream(body),
            None => Bytes::new().into(),
        };
        let headers = forwarded_headers(request.headers);
        self.send(SkillsJob {
            method: request.method,
            path: request.path.as_str(),
            query: request.query,
            headers,
            body,
        })
        .await
    }

    /// Creates a skill, or a version of one, from files that were read already.
    ///
    /// # Errors
    /// As for [`AnthropicSkills::forward`].
    pub async fn upload(
        &self,
        path: SkillsPath,
        headers: &HeaderMap,
        upload: SkillUpload,
    ) -> Result<SkillsResponse, CallError> {
        let mut headers = forwarded_headers(headers);
        let form = upload.into_form(&headers);
        headers.insert(header::CONTENT_TYPE, form.content_type);
        self.send(SkillsJob {
            method: Method::POST,
            path: path.as_str(),
            query: "",
            headers,
            body: RequestBody::from_chunks(form.chunks),
        })
        .await
    }

    async fn send(&self, job: SkillsJob<'_>) -> Result<SkillsResponse, CallError> {
        let endpoint = self
            .endpoint
            .as_ref()
            .map_err(|reason| CallError::Unreachable {
                provider: PROVIDER.to_owned(),
                reason: reason.clone(),
            })?;
        let key = self.key.look_up(&self.env).map_err(key_error)?;
        let request = endpoint.upstream.skills_request(job, &key);
        let request = request.ok_or_else(|| CallError::Unsupported {
            provider: PROVIDER.to_owned(),
            what: "store skills",
        })?;
        let response = endpoint.client.send(request.map_err(key_error)?).await?;
        let body = IdleTimeoutBody::new(response.body, endpoint.client.timeouts().idle);
        Ok(SkillsResponse {
            status: response.status,
            headers: returned_headers(&response.headers),
            body: ByteStream::new(body, PROVIDER),
        })
    }
}

impl SkillsEndpoint {
    fn build(base_url: String, env: &Env) -> Result<Self, String> {
        let kind = ProviderKind::new(AnthropicOptions::default());
        let config = ProviderConfig {
            policies: Policies {
                timeouts: TIMEOUTS,
                ..Policies::default()
            },
            ..ProviderConfig::new(PROVIDER, kind).with_base_url(base_url)
        };
        let upstream = build_upstream(&config, env).map_err(|error| error.to_string())?;
        let upstream = upstream.ok_or_else(|| "it has no address".to_owned())?;
        Ok(SkillsEndpoint {
            client: HttpClient::new(PROVIDER, upstream.base(), &config.policies.timeouts),
            upstream,
        })
    }
}

fn key_error(error: KeyError) -> CallError {
    CallError::Key {
        provider: PROVIDER.to_owned(),
        error,
    }
}

fn forwarded_headers(client: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in FORWARDED_HEADERS {
        for value in client.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    headers
}

fn returned_headers(upstream: &HeaderMap) -> HeaderMap {
    let value = |name: &'static str| Some((name, upstream.get(name)?.clone()));
    let named = RETURNED_HEADERS.into_iter().filter_map(value);
    named
        .map(|(name, value): (_, HeaderValue)| (http::HeaderName::from_static(name), value))
        .collect()
}
