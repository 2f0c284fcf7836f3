//! Whether each field of a request occurs once.
//!
//! JSON does not define which of two fields of the same name counts: most parsers use the
//! last, some the first, and some (such as Go's) also accept `Model` for `model`. A request
//! that is passed through could then name one model to Prowess and another to the upstream.
//! So two names that any of these parsers treats as one are refused.

use std::borrow::Cow;

use super::RawObject;
use crate::error::WireError;

/// Up to this many fields all pairs of names are compared, which is the fastest then.
const MAX_PAIRWISE_FIELDS: usize = 32;
/// Checked one level deeper: it decides which skills are used, and of which tenant.
const CONTAINER: &str = "container";

impl RawObject<'_> {
    /// Refuses a body in which a field is there twice, also as another spelling of the
    /// same name: escaped, or in other case.
    pub fn check_unique(&self) -> Result<(), WireError> {
        self.check_fields(|name| name.to_owned())?;
        match self.get(CONTAINER) {
            Some(json) if json.starts_with('{') => {
                let container = RawObject::parse(json.as_bytes())?;
                container.check_fields(|name| format!("{CONTAINER}.{name}"))
            }
            _ => Ok(()),
        }
    }

    fn check_fields(&self, path: impl Fn(&str) -> String) -> Result<(), WireError> {
        match self.repeated() {
            None => Ok(()),
            Some(name) => Err(WireError::Repeated { field: path(&name) }),
        }
    }

    /// A name that is there twice.
    fn repeated(&self) -> Option<String> {
        let names = || self.fields.iter().map(|(name, _)| name.as_ref());
        if self.fields.len() <= MAX_PAIRWISE_FIELDS && names().all(str::is_ascii) {
            let mut rest = names();
            while let Some(name) = rest.next() {
                let same = |other: &str| other.eq_ignore_ascii_case(name);
                if rest.clone().any(same) {
                    return Some(name.to_ascii_lowercase());
                }
            }
            return None;
        }
        let mut folded: Vec<Cow<'_, str>> = names().map(fold).collect();
        folded.sort_unstable();
        let pairs = folded.iter().zip(folded.iter().skip(1));
        let mut same = pairs.filter(|(one, next)| one == next);
        same.next().map(|(name, _)| name.clone().into_owned())
    }
}

/// A name for parsers that ignore case. To them two letters beyond ASCII are ASCII letters
/// as well: `ſ` and the Kelvin sign.
fn fold(name: &str) -> Cow<'_, str> {
    let is_folded = |c: char| !c.is_ascii_uppercase() && !matches!(c, '\u{17f}' | '\u{212a}');
    if name.chars().all(is_folded) {
        return Cow::Borrowed(name);
    }
    let fold_char = |c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(fold_char).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(body: &str) -> Result<(), String> {
        let raw = RawObject::parse(body.as_bytes()).unwrap();
        raw.check_unique().map_err(|error| {
            assert_eq!(error.to_api_error().status, 400);
            assert_eq!(error.code(), "repeated-field");
            error.field().unwrap_or_default().to_owned()
        })
    }

    #[test]
    fn a_field_that_is_there_twice_is_refused_in_any_spelling() {
        for (body, field) in [
            (r#"{"model":"a","model":"b"}"#, "model"),
            (r#"{"model":"a","model":"a"}"#, "model"),
            (r#"{"model":"a","x":1,"mod\u0065l":"b"}"#, "model"),
            (r#"{"model":"a","Model":"b"}"#, "model"),
            (r#"{"stream":true,"\u017ftream":false}"#, "stream"),
            (r#"{"tools":[],"tool\u017f":[]}"#, "tools"),
            (
                r#"{"model":"a","max_tokens":1,"max_tokens":2}"#,
                "max_tokens",
            ),
            (r#"{"container":"a","container":null}"#, "container"),
            (
                r#"{"container":{"id":"a","skills":[],"skills":[1]}}"#,
                "container.skills",
            ),
            (r#"{"container": {"id":"a","Id":"b"}}"#, "container.id"),
            (
                r#"{"x":{"model":1},"previous_response_id":"a","previous_response_id":null}"#,
                "previous_response_id",
            ),
        ] {
            assert_eq!(verdict(body), Err(field.to_owned()), "{body}");
        }
    }

    #[test]
    fn fields_that_are_there_once_pass() {
        for body in [
            "{}",
            r#"{"model":"a","messages":[{"model":1,"model":2}],"models":[]}"#,
            r#"{"container":null,"container_id":"x"}"#,
            r#"{"container":{"id":"a","skills":[]},"id":1}"#,
            r#"{"modèl":1,"model":2}"#,
        ] {
            assert_eq!(verdict(body), Ok(()), "{body}");
        }
    }

    #[test]
    fn many_fields_are_searched_and_too_many_refused() {
        use crate::raw::MAX_FIELDS;

        let fields = |count: usize| {
            let fields: Vec<_> = (0..count).map(|n| format!("\"f{n}\":0")).collect();
            fields.join(",")
        };
        assert_eq!(verdict(&format!("{{{}}}", fields(500))), Ok(()));
        let twice = format!("{{\"F7\":1,{}}}", fields(500));
        assert_eq!(verdict(&twice), Err("f7".to_owned()));
        let raw = format!("{{{}}}", fields(MAX_FIELDS + 1));
        let error = RawObject::parse(raw.as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("more than 1024 fields"),
            "{error}"
        );
    }
}
