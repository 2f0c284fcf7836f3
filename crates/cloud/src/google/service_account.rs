//! Keys of service accounts: a signed assertion for a token.

use std::time::SystemTime;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::json;

use super::{GoogleContext, SCOPE, oauth};
use crate::error::CloudError;
use crate::secret::CloudToken;
use crate::source::Issued;
use crate::transport::{checked_url, form_request};

pub(super) const DEFAULT_TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// The longest lifetime that a token request may ask for.
const MAX_TOKEN_LIFETIME_SECS: u64 = 3600;
const SOURCE: &str = "service account key";

#[derive(Deserialize)]
pub(super) struct ServiceAccount {
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl ServiceAccount {
    pub(super) async fn token(
        &self,
        google: &GoogleContext,
    ) -> Result<Issued<CloudToken>, CloudError> {
        let url = self.token_uri.as_deref().unwrap_or(DEFAULT_TOKEN_URI);
        let url = checked_url(SOURCE, url)?;
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            (
                "assertion",
                &self.assertion(url.as_str(), google.clock.now())?,
            ),
        ];
        oauth::request_token(google, SOURCE, &form_request(&url, &fields)).await
    }

    /// The signed JWT assertion.
    fn assertion(&self, audience: &str, now: SystemTime) -> Result<String, CloudError> {
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(|_| CloudError::refused(SOURCE, "the clock of this machine is wrong"))?
            .as_secs();
        let head = json!({"alg": "RS256", "typ": "JWT", "kid": self.private_key_id});
        let claims = json!({
            "iss": self.client_email, "scope": SCOPE, "aud": audience,
            "iat": now, "exp": now + MAX_TOKEN_LIFETIME_SECS,
        });
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let claim = format!("{}.{}", encode(&head), encode(&claims));
        let signature = sign(&self.private_key, claim.as_bytes())
            .map_err(|reason| CloudError::refused(SOURCE, reason))?;
        Ok(format!("{claim}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn sign(pem: &str, message: &[u8]) -> Result<Vec<u8>, &'static str> {
    let base64: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let der = STANDARD
        .decode(base64.trim())
        .map_err(|_| "the private key is not PEM")?;
    let key = KeyPair::from_pkcs8(&der).map_err(|_| "the private key is not RSA")?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message,
        &mut signature,
    )
    .map_err(|_| "signing with the private key failed")?;
    Ok(signature)
}
