//! Header fields: which are forwarded, which are for the proxy, and which determine the
//! target and length of a request and so must be unambiguous.

use super::{MalformedRequest, is_token};
use crate::egress::authority::{Authority, parse_decimal};

/// Fields for the next hop only, in addition to those that begin with `proxy-` and those
/// that `connection` names.
const HOP_BY_HOP: [&str; 6] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

/// Fields that some servers also accept with underscores.
const FRAMING: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];

/// The fields of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderFields {
    /// Those that are forwarded, with names in lower case.
    pub(super) kept: Vec<(String, Vec<u8>)>,
    pub(super) content_length: Option<u64>,
    pub(super) has_host: bool,
}

impl HeaderFields {
    /// Parses the fields of a request to `to`.
    pub(super) fn read(
        all: &[httparse::Header<'_>],
        to: &Authority,
        default_port: u16,
    ) -> Result<Self, MalformedRequest> {
        let mut fields = Self::default();
        let mut named_by_connection = Vec::new();
        for field in all {
            if !is_token(field.name) {
                return Err(MalformedRequest(
                    "the name of a header field is not a token",
                ));
            }
            let (name, value) = (field.name.to_ascii_lowercase(), field.value.trim_ascii());
            let dashed = name.replace('_', "-");
            if dashed != name && FRAMING.contains(&dashed.as_str()) {
                return Err(MalformedRequest("a header field can be read as another"));
            }
            match name.as_str() {
                "host" => fields.check_host(value, to, default_port)?,
                "content-length" => fields.read_length(value)?,
                "transfer-encoding" => {
                    return Err(MalformedRequest(
                        "the body must have a content-length; chunked ones are not passed on",
                    ));
                }
                "connection" => named_by_connection.extend(connection_names(value)?),
                other if HOP_BY_HOP.contains(&other) || other.starts_with("proxy-") => {}
                _ => fields.kept.push((name, value.to_vec())),
            }
        }
        fields
            .kept
            .retain(|(name, _)| !named_by_connection.contains(name));
        Ok(fields)
    }

    fn check_host(
        &mut self,
        value: &[u8],
        to: &Authority,
        default_port: u16,
    ) -> Result<(), MalformedRequest> {
        if std::mem::replace(&mut self.has_host, true) {
            return Err(MalformedRequest("there are two host headers"));
        }
        let written = std::str::from_utf8(value).ok();
        let written = written.and_then(|text| Authority::parse(text, Some(default_port)));
        match written {
            Some(written) if written == *to => Ok(()),
            _ => Err(MalformedRequest("the host header is not the target's host")),
        }
    }

    fn read_length(&mut self, value: &[u8]) -> Result<(), MalformedRequest> {
        let length = std::str::from_utf8(value).ok().and_then(parse_decimal);
        let length = length.ok_or(MalformedRequest("the content-length is not a number"))?;
        match self.content_length.replace(length) {
            None => Ok(()),
            Some(_) => Err(MalformedRequest("there are two content-length headers")),
        }
    }
}

/// The names in a `connection` field.
fn connection_names(value: &[u8]) -> Result<Vec<String>, MalformedRequest> {
    let bad = MalformedRequest("the connection header is not a list of names");
    let text = std::str::from_utf8(value).map_err(|_| bad)?;
    let names = text.split(',').map(str::trim_ascii);
    let names = names.filter(|name| !name.is_empty());
    let name = |name: &str| is_token(name).then(|| name.to_ascii_lowercase()).ok_or(bad);
    names.map(name).collect()
}
