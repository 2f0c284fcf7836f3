//! Finds, in the bytes of a request, state of another vendor's model that only a
//! translation can decode.
//!
//! Clients send back fields of responses. State of one vendor's model may be in a request
//! for another's, in a field where that vendor expects its own and refuses anything else.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::ClientDialect;

/// Prefixes of strings that only this crate writes, and the fields that hold them.
struct EnvelopeMarks {
    /// How the strings begin, with their quote.
    start: Finder<'static>,
    /// How they go on.
    more: &'static [&'static str],
    fields: &'static [&'static str],
}

impl EnvelopeMarks {
    fn new(
        start: &'static str,
        more: &'static [&'static str],
        fields: &'static [&'static str],
    ) -> Self {
        EnvelopeMarks {
            start: Finder::new(start),
            more,
            fields,
        }
    }

    fn occur_in(&self, body: &[u8]) -> bool {
        let length = self.start.needle().len();
        self.start.find_iter(body).any(|at| {
            let (before, rest) = body.split_at_checked(at).unwrap_or_default();
            let rest = rest.get(length..).unwrap_or_default();
            self.more
                .iter()
                .any(|more| rest.starts_with(more.as_bytes()))
                && is_value_of(before, self.fields)
        })
    }
}

/// Whether what follows is the value of one of these fields. Text that quotes such a
/// value has its quotes escaped.
fn is_value_of(before: &[u8], fields: &[&str]) -> bool {
    let Some(before) = before.trim_ascii_end().strip_suffix(b":") else {
        return false;
    };
    let Some(key) = before.trim_ascii_end().strip_suffix(b"\"") else {
        return false;
    };
    let ends = |field: &&str| {
        let quote = key.strip_suffix(field.as_bytes());
        quote.is_some_and(|quote| quote.ends_with(b"\""))
    };
    fields.iter().any(ends)
}

static MESSAGES: LazyLock<[EnvelopeMarks; 1]> = LazyLock::new(|| {
    let vendors = &["gemini.", "openai.", "chat."];
    [EnvelopeMarks::new("\"v1.", vendors, &["signature"])]
});

static RESPONSES: LazyLock<[EnvelopeMarks; 1]> = LazyLock::new(|| {
    [EnvelopeMarks::new(
        "\"pw1",
        &[".", "r."],
        &["encrypted_content"],
    )]
});

/// Thoughts are base64, in which these letters are the same in both alphabets; code that
/// another vendor's server ran keeps its id.
static GEMINI: LazyLock<[EnvelopeMarks; 2]> = LazyLock::new(|| {
    let signature = &["thoughtSignature", "thought_signature"];
    [
        EnvelopeMarks::new("\"cHJvd2Vzcy50aG91Z2h0cy4x", &[""], signature),
        EnvelopeMarks::new("\"srvtoolu_", &[""], &["id"]),
    ]
});

/// Whether a client's body contains state of another vendor's model or server, encoded by a
/// writer of this crate. Such a body must be translated even for an upstream of the client's
/// own dialect.
pub fn has_signature_envelope(client: ClientDialect, body: &[u8]) -> bool {
    let marks: &[EnvelopeMarks] = match client {
        ClientDialect::Messages => &*MESSAGES,
        ClientDialect::Responses => &*RESPONSES,
        ClientDialect::Gemini => &*GEMINI,
        // Its servers ignore unknown fields of messages.
        ClientDialect::Chat => return false,
    };
    marks.iter().any(|marks| marks.occur_in(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(client: ClientDialect, body: &str) -> bool {
        has_signature_envelope(client, body.as_bytes())
    }

    #[test]
    fn state_is_found_in_the_field_of_each_dialect() {
        for (client, body) in [
            (ClientDialect::Messages, r#"{"signature":"v1.chat.e30="}"#),
            (
                ClientDialect::Messages,
                r#"{"a":"v1.","signature" : "v1.openai.x"}"#,
            ),
            (
                ClientDialect::Messages,
                "{\"signature\":\n  \"v1.gemini.x\"}",
            ),
            (
                ClientDialect::Responses,
                r#"{"encrypted_content":"pw1.EqQB"}"#,
            ),
            (
                ClientDialect::Responses,
                r#"{"encrypted_content": "pw1r.EqQB"}"#,
            ),
            (
                ClientDialect::Gemini,
                r#"{"thoughtSignature":"cHJvd2Vzcy50aG91Z2h0cy4xOltd"}"#,
            ),
            (
                ClientDialect::Gemini,
                r#"{"thought_signature": "cHJvd2Vzcy50aG91Z2h0cy4xOltd"}"#,
            ),
            (
                ClientDialect::Gemini,
                r#"{"executableCode":{"id":"srvtoolu_01"}}"#,
            ),
        ] {
            assert!(found(client, body), "{body}");
        }
    }

    #[test]
    fn own_state_and_quoted_text_are_not_taken_for_it() {
        for (client, body) in [
            (ClientDialect::Messages, r#"{"signature":"EqQBCg=="}"#),
            (ClientDialect::Messages, r#"{"signature":"v1.other.x"}"#),
            (ClientDialect::Messages, r#"{"text":"v1.chat.x"}"#),
            (
                ClientDialect::Messages,
                r#"{"text":"{\"signature\":\"v1.chat.x\"}"}"#,
            ),
            (ClientDialect::Messages, r#"{"my_signature":"v1.chat.x"}"#),
            (ClientDialect::Messages, r#"{"id":"srvtoolu_01"}"#),
            (ClientDialect::Messages, r#"["v1.chat.x"]"#),
            (ClientDialect::Messages, r#""v1.chat."#),
            (ClientDialect::Messages, r#"{"signature":"v1."#),
            (ClientDialect::Responses, r#"{"encrypted_content":"gAAA"}"#),
            (ClientDialect::Responses, r#"{"signature":"v1.chat.x"}"#),
            (ClientDialect::Gemini, r#"{"thoughtSignature":"c2ln"}"#),
            (ClientDialect::Chat, r#"{"signature":"v1.chat.x"}"#),
            (ClientDialect::Messages, ""),
        ] {
            assert!(!found(client, body), "{body}");
        }
    }
}
