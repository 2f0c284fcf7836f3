//! Writing the head that the server gets, with secrets in the place of their stand-ins.

use super::{Forward, Malformed};
use crate::egress::rules::Secret;

/// Longest head that is sent, secrets included.
const MAX_RENDERED_BYTES: usize = 256 << 10;

impl Forward {
    /// The head as the server gets it. Secrets for this very host replace their stand-ins
    /// in values of header fields: never in the method, the path, a name, the host or a
    /// length, and never for another host.
    pub(crate) fn render(&self, secrets: &[Secret]) -> Result<Vec<u8>, Malformed> {
        let host = self.to.host.as_str();
        let secrets = secrets
            .iter()
            .filter(|secret| !secret.stand_in.is_empty() && secret.domain.covers(host));
        let secrets: Vec<&Secret> = secrets.collect();
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
            reveal(value, &secrets, &mut head)?;
            head.extend_from_slice(b"\r\n");
        }
        if let Some(length) = self.fields.content_length {
            head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        head.extend_from_slice(b"\r\n");
        Ok(head)
    }
}

/// Adds a value to the head, in one pass: what a secret holds is not looked at again.
fn reveal(value: &[u8], secrets: &[&Secret], head: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        let here = secrets
            .iter()
            .filter(|secret| rest.starts_with(secret.stand_in.as_bytes()))
            .max_by_key(|secret| secret.stand_in.len());
        match here {
            Some(secret) => {
                if secret.value.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
                    return Err(Malformed("a secret holds a control character"));
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
            return Err(Malformed("the head is too long with its secrets"));
        }
    }
    Ok(())
}
