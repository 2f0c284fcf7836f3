//! The boundary in the content type of a form.

/// Maximum characters of a boundary (RFC 2046, 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// The boundary; none if the type is no form, or if there could be a second opinion.
pub(super) fn parse(content_type: &str) -> Option<&str> {
    let (essence, parameters) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut boundary = None;
    for parameter in parameters.split(';').filter(|text| !text.trim().is_empty()) {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("boundary") {
            // Such as the charset.
            continue;
        }
        if boundary.is_some() {
            return None;
        }
        let value = value.trim();
        let quoted = value
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        boundary = Some(quoted.unwrap_or(value));
    }
    boundary.filter(|text| is_boundary(text))
}

/// Without the characters that need quotes, but for those that clients use.
fn is_boundary(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    (1..=MAX_BOUNDARY).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_found_where_there_is_exactly_one() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            (
                "Multipart/Form-Data;charset=utf-8; Boundary=\"a-b\"",
                Some("a-b"),
            ),
            (
                "multipart/form-data; boundary=----WebKitFormBoundaryx1;",
                Some("----WebKitFormBoundaryx1"),
            ),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=a; boundary=b", None),
            ("multipart/form-data; boundary=a\"b", None),
            ("multipart/mixed; boundary=abc", None),
            ("application/json; boundary=abc", None),
        ] {
            assert_eq!(parse(content_type), expected, "{content_type}");
        }
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        assert_eq!(parse(&long), None);
    }
}
