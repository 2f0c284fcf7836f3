//! AWS signatures.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use http::{HeaderMap, HeaderName};
use url::Url;

use crate::http::headers::sensitive_value;
use crate::key::KeyError;

const SERVICE: &str = "bedrock";

/// Adds the headers of the signature of a POST request to Bedrock.
pub(crate) fn sign_request(
    region: &str,
    credentials: Credentials,
    url: &Url,
    headers: &mut HeaderMap,
    body: &[u8],
) -> Result<(), KeyError> {
    sign_request_at(SystemTime::now(), region, credentials, url, headers, body)
}

fn sign_request_at(
    now: SystemTime,
    region: &str,
    credentials: Credentials,
    url: &Url,
    headers: &mut HeaderMap,
    body: &[u8],
) -> Result<(), KeyError> {
    let identity = credentials.into();
    // These cannot fail here: all parameters are set, the URL is valid, and the values are
    // text.
    let unsignable = |_| KeyError::NotHeaderSafe;
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| KeyError::NotHeaderSafe)?
        .into();
    // As few headers as possible: proxies on the way may change any other.
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
        let name = HeaderName::try_from(name).map_err(|_| KeyError::NotHeaderSafe)?;
        headers.insert(name, sensitive_value(value)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    /// 2026-11-15 01:50:40 UTC.
    const NOW: Duration = Duration::from_secs(1_794_707_440);

    fn signed(path: &str, body: &str, token: Option<&str>) -> HeaderMap {
        let token = token.map(str::to_owned);
        let credentials = Credentials::new("AK", "SK", token, None, "test");
        let url = Url::parse(&format!("http://127.0.0.1:18935{path}")).unwrap();
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert("content-type", json);
        headers.insert("user-agent", HeaderValue::from_static("not signed"));
        let now = SystemTime::UNIX_EPOCH + NOW;
        let (region, body) = ("us-east-1", body.as_bytes());
        sign_request_at(now, region, credentials, &url, &mut headers, body).unwrap();
        headers
    }

    #[test]
    fn a_signature_is_the_one_botocore_makes() {
        let body = r#"{"messages": [{"role": "user", "content": [{"text": "hi"}]}], "toolConfig": {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}], "toolChoice": {"auto": {}}}}"#;
        let headers = signed("/model/m1/converse", body, None);
        assert_eq!(headers["x-amz-date"], "20261115T015040Z");
        assert_eq!(
            headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AK/20261115/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=dcffa7af4307b98a285e899e1fad8f187fc4e930f0cfc5703f593f0e3cdf0678"
        );
    }

    #[test]
    fn a_path_is_encoded_twice_and_a_session_token_is_signed() {
        let headers = signed("/model/anthropic.claude-x-v1:0/invoke", "{}", Some("TOKEN"));
        assert_eq!(headers["x-amz-security-token"], "TOKEN");
        assert_eq!(
            headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AK/20261115/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=86b552208c77593a6202a437ec3f6e38edc05e8e9bac00cac21915750e864d00"
        );
    }
}
