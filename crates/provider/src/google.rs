//! Google's access tokens: fetched with a file of credentials, kept until they expire.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use crate::http::{HttpClient, HttpRequest, Idle, read_all};
use crate::key::{KeyError, Secret, read_key};

const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The longest life a request for a token may ask for.
const LIFE: u64 = 3600;
/// A token is not used in its last minute: it has a way to go.
const MARGIN: Duration = Duration::from_secs(60);
const MAX_ANSWER: usize = 64 * 1024;

/// A source of access tokens.
#[derive(Debug)]
pub(crate) struct GoogleTokens {
    file: PathBuf,
    /// Held while a token is fetched, so that it is fetched once.
    token: Mutex<Option<(Secret, Instant)>>,
}

/// A file of credentials, as Google's tools write it.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Credentials {
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
struct Token {
    access_token: String,
    expires_in: u64,
}

impl GoogleTokens {
    pub(crate) fn new(file: PathBuf) -> Self {
        GoogleTokens {
            file,
            token: Mutex::new(None),
        }
    }

    /// A token that is good for a while.
    pub(crate) async fn token(&self, client: &HttpClient) -> Result<Secret, KeyError> {
        let mut kept = self.token.lock().await;
        if let Some((token, until)) = kept.as_ref()
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let token = fetch(client, Credentials::read(&self.file)?.request()?).await?;
        let life = Duration::from_secs(token.expires_in).saturating_sub(MARGIN);
        let secret = Secret::new(token.access_token);
        *kept = Some((secret.clone(), Instant::now() + life));
        Ok(secret)
    }
}

async fn fetch(client: &HttpClient, request: HttpRequest) -> Result<Token, KeyError> {
    let answer = client.send(request).await.map_err(no_token)?;
    let status = answer.status;
    let mut body = Idle::new(answer.body, client.timeouts().idle);
    let body = read_all(&mut body, MAX_ANSWER).await;
    // The body is not quoted: it may repeat what it was sent.
    match (status.is_success(), body) {
        (true, Ok(Some(body))) => serde_json::from_slice(&body).map_err(no_token),
        _ => Err(no_token(format!("the token server answered {status}"))),
    }
}

impl Credentials {
    fn read(file: &Path) -> Result<Self, KeyError> {
        let unreadable = |reason: String| KeyError::File {
            path: file.to_owned(),
            reason,
        };
        let text = read_key(file).map_err(|error| unreadable(error.to_string()))?;
        // The parser's words may quote the file; its place is enough.
        serde_json::from_str(text.expose()).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            unreadable(format!(
                "it is no service account's key and no user's credentials (line {line}, column {column})"
            ))
        })
    }

    /// The request for a token.
    fn request(&self) -> Result<HttpRequest, KeyError> {
        let (Credentials::ServiceAccount { token_uri, .. }
        | Credentials::AuthorizedUser { token_uri, .. }) = self;
        let url = Url::parse(token_uri.as_deref().unwrap_or(TOKEN_URI)).map_err(no_token)?;
        // A form's fields are written like a query.
        let mut form = url.clone();
        match self {
            Credentials::ServiceAccount { .. } => form
                .query_pairs_mut()
                .clear()
                .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
                .append_pair("assertion", &self.assertion(url.as_str())?),
            Credentials::AuthorizedUser {
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
            to: url.into(),
            headers,
            body: form.query().unwrap_or_default().to_owned().into(),
        })
    }

    /// The signed claim to be the service account.
    fn assertion(&self, audience: &str) -> Result<String, KeyError> {
        let Credentials::ServiceAccount {
            client_email,
            private_key,
            private_key_id,
            ..
        } = self
        else {
            return Err(no_token("a user's credentials are not signed with"));
        };
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(no_token)?
            .as_secs();
        let head = json!({"alg": "RS256", "typ": "JWT", "kid": private_key_id});
        let claims = json!({
            "iss": client_email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + LIFE,
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
        .map_err(|_| no_token("the private key is not PEM"))?;
    let key = KeyPair::from_pkcs8(&der).map_err(|_| no_token("the private key is not RSA"))?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message,
        &mut signature,
    )
    .map_err(|_| no_token("the private key does not sign"))?;
    Ok(signature)
}

fn no_token(reason: impl ToString) -> KeyError {
    KeyError::Token(reason.to_string())
}
