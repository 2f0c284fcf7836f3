//! Google access tokens: fetched with a credentials file, cached until they expire.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use crate::http::{HttpClient, HttpRequest, IdleTimeoutBody, read_all};
use crate::key::{KeyError, SecretText, read_key};

const DEFAULT_TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The longest lifetime that a token request may ask for.
const MAX_TOKEN_LIFETIME_SECS: u64 = 3600;
/// A token is not used in its last minute, as the request still has to arrive.
const EXPIRY_MARGIN: Duration = Duration::from_secs(60);
const MAX_TOKEN_RESPONSE_BYTES: usize = 64 * 1024;

/// A source of access tokens.
#[derive(Debug)]
pub(crate) struct GoogleTokenSource {
    file: PathBuf,
    /// Locked while a token is fetched, so that it is fetched once.
    token: Mutex<Option<(SecretText, Instant)>>,
}

/// A credentials file, as Google's tools write it.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum GoogleCredentials {
    ServiceAccount {
        client_email: String,
        private_key: String,
        private_key_id: Option<String>,
        token_uri: Option<String>,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        token_uri: Option<String>,
    },
}

#[derive(Deserialize)]
struct AccessToken {
    access_token: String,
    expires_in: u64,
}

impl GoogleTokenSource {
    pub(crate) fn new(file: PathBuf) -> Self {
        GoogleTokenSource {
            file,
            token: Mutex::new(None),
        }
    }

    /// A valid token.
    pub(crate) async fn token(&self, client: &HttpClient) -> Result<SecretText, KeyError> {
        let mut cached = self.token.lock().await;
        if let Some((token, until)) = cached.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let token = fetch_token(
            client,
            GoogleCredentials::read(&self.file)?.token_request()?,
        )
        .await?;
        let lifetime = Duration::from_secs(token.expires_in).saturating_sub(EXPIRY_MARGIN);
        let secret = SecretText::new(token.access_token);
        *cached = Some((secret.clone(), Instant::now() + lifetime));
        Ok(secret)
    }
}

async fn fetch_token(client: &HttpClient, request: HttpRequest) -> Result<AccessToken, KeyError> {
    let response = client.send(request).await.map_err(token_error)?;
    let status = response.status;
    let mut body = IdleTimeoutBody::new(response.body, client.timeouts().idle);
    let body = read_all(&mut body, MAX_TOKEN_RESPONSE_BYTES).await;
    // The body is not quoted: it may repeat the credentials sent.
    match (status.is_success(), body) {
        (true, Ok(Some(body))) => serde_json::from_slice(&body).map_err(token_error),
        _ => Err(token_error(format!("the token server returned {status}"))),
    }
}

impl GoogleCredentials {
    fn read(file: &Path) -> Result<Self, KeyError> {
        let unreadable = |reason: String| KeyError::File {
            path: file.to_owned(),
            reason,
        };
        let text = read_key(file).map_err(|error| unreadable(error.to_string()))?;
        // The parser's message may quote the file, so only its position is reported.
        serde_json::from_str(text.expose()).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            unreadable(format!(
                "it is neither a service account key nor user credentials (line {line}, column {column})"
            ))
        })
    }

    /// The request for a token.
    fn token_request(&self) -> Result<HttpRequest, KeyError> {
        let (GoogleCredentials::ServiceAccount { token_uri, .. }
        | GoogleCredentials::AuthorizedUser { token_uri, .. }) = self;
        let url =
            Url::parse(token_uri.as_deref().unwrap_or(DEFAULT_TOKEN_URI)).map_err(token_error)?;
        // Form fields are encoded like a query.
        let mut form = url.clone();
        match self {
            GoogleCredentials::ServiceAccount { .. } => form
                .query_pairs_mut()
                .clear()
                .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
                .append_pair("assertion", &self.assertion(url.as_str())?),
            GoogleCredentials::AuthorizedUser {
                client_id,
                client_secret,
                refresh_token,
                ..
            } => form
                .query_pairs_mut()
                .clear()
                .append_pair("grant_type", "refresh_token")
                .append_pair("client_id", client_id)
                .append_pair("client_secret", client_secret)
                .append_pair("refresh_token", refresh_token),
        };
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        );
        Ok(HttpRequest {
            method: Method::POST,
            destination: url.into(),
            headers,
            body: Bytes::from(form.query().unwrap_or_default().to_owned()).into(),
        })
    }

    /// The signed JWT assertion of the service account.
    fn assertion(&self, audience: &str) -> Result<String, KeyError> {
        let GoogleCredentials::ServiceAccount {
            client_email,
            private_key,
            private_key_id,
            ..
        } = self
        else {
            return Err(token_error("user credentials cannot sign a token request"));
        };
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(token_error)?
            .as_secs();
        let head = json!({"alg": "RS256", "typ": "JWT", "kid": private_key_id});
        let claims = json!({
            "iss": client_email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + MAX_TOKEN_LIFETIME_SECS,
        });
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let claim = format!("{}.{}", encode(&head), encode(&claims));
        let signature = sign(private_key, claim.as_bytes())?;
        Ok(format!("{claim}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn sign(pem: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
    let base64: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let der = STANDARD
        .decode(base64.trim())
        .map_err(|_| token_error("the private key is not PEM"))?;
    let key = KeyPair::from_pkcs8(&der).map_err(|_| token_error("the private key is not RSA"))?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message,
        &mut signature,
    )
    .map_err(|_| token_error("signing with the private key failed"))?;
    Ok(signature)
}

fn token_error(reason: impl ToString) -> KeyError {
    KeyError::Token(reason.to_string())
}
