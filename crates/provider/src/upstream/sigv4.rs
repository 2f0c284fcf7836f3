//! AWS signatures.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::{HeaderMap, HeaderName};
use reqwest::Url;

use crate::http::headers::sensitive;
use crate::key::{Key, KeyError};

const SERVICE: &str = "bedrock";

/// Signs requests with AWS keys.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) region: String,
    pub(crate) access_key_id: Key,
    pub(crate) secret_access_key: Key,
    pub(crate) session_token: Option<Key>,
}

impl Signer {
    /// Adds the headers that prove who sends the request.
    pub(crate) fn sign(
        &self,
        url: &Url,
        headers: &mut HeaderMap,
        body: &[u8],
    ) -> Result<(), KeyError> {
        self.sign_at(SystemTime::now(), url, headers, body)
    }

    fn sign_at(
        &self,
        now: SystemTime,
        url: &Url,
        headers: &mut HeaderMap,
        body: &[u8],
    ) -> Result<(), KeyError> {
        let identity = self.credentials()?.into();
        // None of these can fail with what is given here: all parts of the parameters
        // are set, the URL is valid, and the values are text.
        let unsignable = |_| KeyError::NotHeader;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .map_err(|_| KeyError::NotHeader)?
            .into();
        // As few as possible: proxies on the way may change any other.
        let signed = headers
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .map(|value| ("content-type", value));
        let request = SignableRequest::new(
            "POST",
            url.as_str(),
            signed.into_iter(),
            SignableBody::Bytes(body),
        )
        .map_err(unsignable)?;
        let (instructions, _) = sign(request, &params).map_err(unsignable)?.into_parts();
        for (name, value) in instructions.headers() {
            let name = HeaderName::try_from(name).map_err(|_| KeyError::NotHeader)?;
            headers.insert(name, sensitive(value)?);
        }
        Ok(())
    }

    fn credentials(&self) -> Result<Credentials, KeyError> {
        let token = self.session_token.as_ref().map(Key::get).transpose()?;
        Ok(Credentials::new(
            self.access_key_id.get()?.expose(),
            self.secret_access_key.get()?.expose(),
            token.map(|token| token.expose().to_owned()),
            None,
            "prowess",
        ))
    }
}
