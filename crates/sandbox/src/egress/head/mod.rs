//! The head of a request, parsed from untrusted bytes by strict rules. The proxy never
//! forwards those bytes, but a new head, rendered from the parsed parts.
//!
//! Whatever two servers could interpret differently is refused: control characters in the
//! target, bare line feeds, folded lines, two hosts, two lengths, chunked bodies.

mod fields;
#[cfg(test)]
mod properties;
mod render;
#[cfg(test)]
mod tests;

use super::authority::Authority;
use fields::HeaderFields;

/// Longest head that is read.
pub(crate) const MAX_HEAD_BYTES: usize = 32 << 10;

/// Maximum header fields of one head.
pub(crate) const MAX_FIELDS: usize = 100;

/// Methods that are not passed on. `TRACE`, and `TRACK` on some servers, make a server send the head
/// back, and with it secrets that the sandbox must not see.
const REFUSED_METHODS: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// The ports of the two schemes.
pub(crate) const HTTP_PORT: u16 = 80;
pub(crate) const HTTPS_PORT: u16 = 443;

/// Why a head is refused, as a message for the author of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedRequest(pub(crate) &'static str);

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProxyRequest {
    /// A tunnel.
    Connect(Authority),
    /// A request to forward.
    Forward(ForwardRequest),
}

/// A request to forward, in parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ForwardRequest {
    /// Its target: the host that is checked, connected to and named in the request.
    pub(crate) to: Authority,
    /// The port that the scheme's `host` header omits.
    default_port: u16,
    method: String,
    path: String,
    /// 0 or 1, of HTTP/1.x.
    minor_version: u8,
    fields: HeaderFields,
}

impl ForwardRequest {
    /// The length of the body that follows.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.fields.content_length.unwrap_or(0)
    }
}

/// Parses a request to the proxy itself: `CONNECT host:port`, or any other method with a
/// target that begins with `http://`.
pub(crate) fn parse_proxy_request(bytes: &[u8]) -> Result<ProxyRequest, MalformedRequest> {
    let head = Head::parse(bytes)?;
    if head.method == "CONNECT" {
        let target = Authority::parse(head.target, None);
        let target = target.ok_or(MalformedRequest(
            "CONNECT needs a target of the form host:port",
        ))?;
        let fields = HeaderFields::read(&head.fields, &target, HTTPS_PORT)?;
        if fields.content_length.unwrap_or(0) != 0 {
            return Err(MalformedRequest("CONNECT has no body"));
        }
        return Ok(ProxyRequest::Connect(target));
    }
    let rest = head.target.strip_prefix("http://");
    let rest = rest.ok_or(MalformedRequest("the target must begin with http://"))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let to = Authority::parse(authority, Some(HTTP_PORT));
    let to = to.ok_or(MalformedRequest(
        "the target's host must be a plain name, with a port at most",
    ))?;
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    head.forward(to, HTTP_PORT, path).map(ProxyRequest::Forward)
}

/// Parses a request inside TLS, which must be for `to`.
pub(crate) fn parse_origin_request(
    bytes: &[u8],
    to: &Authority,
) -> Result<ForwardRequest, MalformedRequest> {
    let head = Head::parse(bytes)?;
    if !head.target.starts_with('/') {
        return Err(MalformedRequest("the target must be a path"));
    }
    let path = head.target.to_owned();
    let forward = head.forward(to.clone(), HTTPS_PORT, path)?;
    if !forward.fields.has_host {
        return Err(MalformedRequest("a host header is missing"));
    }
    Ok(forward)
}

/// A head in which every byte was checked.
struct Head<'a> {
    method: &'a str,
    target: &'a str,
    minor_version: u8,
    fields: Vec<httparse::Header<'a>>,
}

impl<'a> Head<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, MalformedRequest> {
        check_lines(bytes)?;
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
            Err(httparse::Error::TooManyHeaders) => {
                return Err(MalformedRequest("there are too many header fields"));
            }
            _ => return Err(MalformedRequest("this is not an HTTP/1 request")),
        }
        let (Some(method), Some(target), Some(minor_version)) =
            (request.method, request.path, request.version)
        else {
            return Err(MalformedRequest("this is not an HTTP/1 request"));
        };
        // The parser tolerates some white space; the line must be exactly these parts.
        let line = format!("{method} {target} HTTP/1.{minor_version}\r\n");
        if !bytes.starts_with(line.as_bytes()) || !is_token(method) {
            return Err(MalformedRequest(
                "the request line is not METHOD TARGET HTTP/1.x",
            ));
        }
        if !target
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#')
        {
            return Err(MalformedRequest(
                "the target holds a character that no target may hold",
            ));
        }
        let fields = request.headers.to_vec();
        Ok(Self {
            method,
            target,
            minor_version,
            fields,
        })
    }

    fn forward(
        &self,
        to: Authority,
        default_port: u16,
        path: String,
    ) -> Result<ForwardRequest, MalformedRequest> {
        // Some servers ignore the case of methods.
        let is_method = |method: &&str| self.method.eq_ignore_ascii_case(method);
        if REFUSED_METHODS.iter().any(is_method) {
            return Err(MalformedRequest("this method is not passed on"));
        }
        let fields = HeaderFields::read(&self.fields, &to, default_port)?;
        Ok(ForwardRequest {
            to,
            default_port,
            method: self.method.to_owned(),
            path,
            minor_version: self.minor_version,
            fields,
        })
    }
}

/// Checks that all lines end with CR LF, have no other control characters but tabs, and are
/// not folded.
fn check_lines(bytes: &[u8]) -> Result<(), MalformedRequest> {
    let text = bytes.strip_suffix(b"\r\n\r\n");
    let mut rest = text.ok_or(MalformedRequest("the head does not end"))?;
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n");
        let (line, next) = match end {
            Some(end) => rest.split_at(end),
            None => (rest, &[][..]),
        };
        let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\t') || *byte == 0x7f;
        if line.iter().any(is_control) {
            return Err(MalformedRequest("the head holds a control character"));
        }
        if line.is_empty() || line.starts_with(b" ") || line.starts_with(b"\t") {
            return Err(MalformedRequest("a line of the head is empty or folded"));
        }
        match next.strip_prefix(b"\r\n") {
            Some(next) => rest = next,
            None => return Ok(()),
        }
    }
}

/// Whether this is a token of HTTP: a name of a method or header field.
fn is_token(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_fine)
}
