//! Renders the head for the server, with secrets in place of their stand-ins.

use super::{ForwardRequest, MalformedRequest};
use crate::egress::rules::EgressSecret;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Longest head that is sent, secrets included.
const MAX_RENDERED_BYTES: usize = 256 << 10;

/// Bytes of the name of the scheme Basic, and the space after it.
const BASIC_BYTES: usize = 6;

impl ForwardRequest {
    /// The head for the server. Secrets for this host replace their stand-ins in values of
    /// header fields: never in the method, the path, a name, the host or a length, and
    /// never for another host.
    pub(crate) fn render(&self, secrets: &[EgressSecret]) -> Result<Vec<u8>, MalformedRequest> {
        let host = self.to.host.as_str();
        let secrets = secrets
            .iter()
            .filter(|secret| !secret.stand_in.is_empty() && secret.domain.covers(host));
        let secrets: Vec<&EgressSecret> = secrets.collect();
        let mut head = format!(
            "{} {} HTTP/1.{}\r\nhost: {}\r\nconnection: close\r\n",
            self.method,
            self.path,
            self.minor_version,
            self.to.in_header(self.default_port),
        )
        .into_bytes();
        for (name, value) in &self.fields.kept {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            match reveal_basic(name, value, &secrets)? {
                Some(credentials) => head.extend_from_slice(&credentials),
                None => reveal(value, &secrets, &mut head)?,
            }
            head.extend_from_slice(b"\r\n");
        }
        if let Some(length) = self.fields.content_length {
            head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        Ok(head)
    }
}

/// The value of an `authorization` field of the scheme Basic with a stand-in as user or
/// password: it is decoded, replaced and encoded again. `None` for all other fields.
fn reveal_basic(
    name: &str,
    value: &[u8],
    secrets: &[&EgressSecret],
) -> Result<Option<Vec<u8>>, MalformedRequest> {
    let Some((b"Basic " | b"basic ", encoded)) = value.split_at_checked(BASIC_BYTES) else {
        return Ok(None);
    };
    if name != "authorization" {
        return Ok(None);
    }
    // What cannot be decoded contains no stand-in.
    let Ok(decoded) = BASE64_STANDARD.decode(encoded) else {
        return Ok(None);
    };
    let mut revealed = Vec::new();
    reveal(&decoded, secrets, &mut revealed)?;
    let changed = revealed != decoded;
    Ok(changed.then(|| format!("Basic {}", BASE64_STANDARD.encode(revealed)).into_bytes()))
}

/// Adds a value to the head, in one pass: an inserted secret is not scanned again.
fn reveal(
    value: &[u8],
    secrets: &[&EgressSecret],
    head: &mut Vec<u8>,
) -> Result<(), MalformedRequest> {
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        let here = secrets
            .iter()
            .filter(|secret| rest.starts_with(secret.stand_in.as_bytes()))
            .max_by_key(|secret| secret.stand_in.len());
        match here {
            Some(secret) => {
                if secret.value.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
                    return Err(MalformedRequest("a secret holds a control character"));
                }
                head.extend_from_slice(secret.value.as_bytes());
                rest = rest.get(secret.stand_in.len()..).unwrap_or_default();
            }
            None => {
                head.push(*first);
                rest = after;
            }
        }
        if head.len() > MAX_RENDERED_BYTES {
            return Err(MalformedRequest("the head is too long with its secrets"));
        }
    }
    Ok(())
}
