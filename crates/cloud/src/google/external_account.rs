//! Workload identity federation: the token of another issuer, exchanged for Google's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderName, Request};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GoogleContext, SCOPE, impersonation, oauth};
use crate::error::CloudError;
use crate::secret::{CloudToken, read_secret_file};
use crate::source::Issued;
use crate::transport::{checked_url, form_request, request_to, secret_header};

const SOURCE: &str = "workload identity federation";
/// Headers that a file can name for one request.
const MAX_HEADERS: usize = 32;

/// A credentials file with `type = "external_account"`.
#[derive(Deserialize)]
pub(super) struct ExternalAccount {
    audience: String,
    subject_token_type: String,
    token_url: String,
    credential_source: SubjectTokenPlace,
    service_account_impersonation_url: Option<String>,
    #[serde(default)]
    service_account_impersonation: ImpersonationOptions,
    client_id: Option<String>,
    client_secret: Option<String>,
    workforce_pool_user_project: Option<String>,
}

#[derive(Deserialize, Default)]
struct ImpersonationOptions {
    token_lifetime_seconds: Option<u64>,
}

/// Where the other issuer's token is: a file or an address. The other places of Google's format
/// are named, so that an error can name them too.
#[derive(Deserialize)]
struct SubjectTokenPlace {
    file: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    format: SubjectTokenFormat,
    environment_id: Option<String>,
    executable: Option<Value>,
    certificate: Option<Value>,
}

#[derive(Deserialize, Default)]
struct SubjectTokenFormat {
    #[serde(rename = "type")]
    kind: Option<String>,
    subject_token_field_name: Option<String>,
}

impl ExternalAccount {
    pub(super) async fn token(
        &self,
        google: &GoogleContext,
    ) -> Result<Issued<CloudToken>, CloudError> {
        let subject = self.credential_source.token(google).await?;
        let request = self.exchange_request(&subject)?;
        let token = oauth::request_token(google, SOURCE, &request).await?;
        let Some(url) = &self.service_account_impersonation_url else {
            return Ok(token);
        };
        let lifetime = self.service_account_impersonation.token_lifetime_seconds;
        impersonation::generate_token(google, url, &[], lifetime, &token.value).await
    }

    fn exchange_request(&self, subject: &CloudToken) -> Result<Request<Bytes>, CloudError> {
        let url = checked_url(SOURCE, &self.token_url)?;
        let mut fields = vec![
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            (
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:access_token",
            ),
            ("audience", self.audience.as_str()),
            ("scope", SCOPE),
            ("subject_token_type", self.subject_token_type.as_str()),
            ("subject_token", subject.as_str()),
        ];
        // Users of a workforce pool name a project, unless a client does it for them.
        let options = match (&self.workforce_pool_user_project, &self.client_id) {
            (Some(project), None) => Some(json!({"userProject": project}).to_string()),
            _ => None,
        };
        if let Some(options) = &options {
            fields.push(("options", options));
        }
        let mut request = form_request(&url, &fields);
        if let (Some(id), Some(secret)) = (&self.client_id, &self.client_secret) {
            let basic = STANDARD.encode(format!("{id}:{secret}"));
            let basic = secret_header(SOURCE, &format!("Basic {basic}"))?;
            request.headers_mut().insert(AUTHORIZATION, basic);
        }
        Ok(request)
    }
}

impl SubjectTokenPlace {
    async fn token(&self, google: &GoogleContext) -> Result<CloudToken, CloudError> {
        let unsupported = |place: &str| {
            CloudError::refused(
                SOURCE,
                format!("credential_source names {place}, which is not supported"),
            )
            .with_remedy("use a file or a URL as credential_source")
        };
        match (&self.file, &self.url) {
            _ if self.executable.is_some() => Err(unsupported("a program")),
            _ if self.certificate.is_some() => Err(unsupported("a certificate")),
            _ if self.environment_id.is_some() => Err(unsupported("AWS")),
            (Some(file), _) => {
                let text = read_secret_file(file).map_err(|error| {
                    let file = file.display();
                    CloudError::refused(SOURCE, format!("{file} cannot be read: {error}"))
                })?;
                self.format.token(text.as_str())
            }
            (None, Some(url)) => {
                let response = google.sender.send(SOURCE, &self.request(url)?).await?;
                let text = std::str::from_utf8(response.body());
                let text =
                    text.map_err(|_| CloudError::refused(SOURCE, "the subject token is not text"))?;
                self.format.token(text)
            }
            (None, None) => Err(unsupported("neither a file nor a URL")),
        }
    }

    fn request(&self, url: &str) -> Result<Request<Bytes>, CloudError> {
        let mut request = request_to(&checked_url(SOURCE, url)?, Bytes::new());
        for (name, value) in self.headers.iter().take(MAX_HEADERS) {
            let wrong =
                |_| CloudError::refused(SOURCE, format!("{name:?} is not the name of a header"));
            let header = HeaderName::try_from(name.as_str()).map_err(wrong)?;
            request
                .headers_mut()
                .insert(header, secret_header(SOURCE, value)?);
        }
        Ok(request)
    }
}

impl SubjectTokenFormat {
    fn token(&self, text: &str) -> Result<CloudToken, CloudError> {
        if self.kind.as_deref() != Some("json") {
            return Ok(CloudToken::new(text.trim()));
        }
        let field = self.subject_token_field_name.as_deref();
        let field = field.unwrap_or("access_token");
        let object: Value = serde_json::from_str(text)
            .map_err(|_| CloudError::refused(SOURCE, "the subject token is not in JSON"))?;
        let token = object.get(field).and_then(Value::as_str);
        token.map(CloudToken::new).ok_or_else(|| {
            CloudError::refused(SOURCE, format!("the subject token has no field {field:?}"))
        })
    }
}
