//! Finds, in the bytes of a request, what another vendor's model or server left there and only
//! a translation can decode.
//!
//! Clients send back fields of responses. State of one vendor's model may be in a request
//! for another's, in a field where that vendor expects its own and refuses anything else.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::ClientDialect;
use crate::server_call_ids;

/// Strings that only this crate writes, and the fields that hold them.
struct EnvelopeMarks {
    /// How the strings begin, with their quote.
    start: Finder<'static>,
    /// Whether they go on like this.
    goes_on: fn(&[u8]) -> bool,
    fields: &'static [&'static str],
}

impl EnvelopeMarks {
    fn new(
        start: &'static str,
        goes_on: fn(&[u8]) -> bool,
        fields: &'static [&'static str],
    ) -> Self {
        EnvelopeMarks {
            start: Finder::new(start),
            goes_on,
            fields,
        }
    }

    fn occur_in(&self, body: &[u8]) -> bool {
        let length = self.start.needle().len();
        self.start.find_iter(body).any(|at| {
            let (before, rest) = body.split_at_checked(at).unwrap_or_default();
            let rest = rest.get(length..).unwrap_or_default();
            (self.goes_on)(rest) && is_value_of(before, self.fields)
        })
    }
}

fn begins(rest: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| rest.starts_with(word.as_bytes()))
}

/// Whether a text that began with a bracket names media, or an item or a part and nothing else.
fn is_named_block(rest: &[u8]) -> bool {
    let word = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    let length = word.count();
    let after = rest.get(length..).unwrap_or_default();
    begins(rest, &["image: ", "file: "]) || (length > 0 && after.starts_with(b"]\""))
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

/// Calls and other blocks of other vendors' servers may have fields that Anthropic does not.
static MESSAGES: LazyLock<[EnvelopeMarks; 3]> = LazyLock::new(|| {
    let vendors = |rest: &[u8]| begins(rest, &["gemini.", "openai.", "chat."]);
    let calls = |rest: &[u8]| begins(rest, &server_call_ids::WORDS);
    [
        EnvelopeMarks::new("\"v1.", vendors, &["signature"]),
        EnvelopeMarks::new("\"srvtoolu_", calls, &["id", "tool_use_id"]),
        EnvelopeMarks::new("\"[", is_named_block, &["text"]),
    ]
});

static RESPONSES: LazyLock<[EnvelopeMarks; 1]> = LazyLock::new(|| {
    let goes_on = |rest: &[u8]| begins(rest, &[".", "r."]);
    [EnvelopeMarks::new("\"pw1", goes_on, &["encrypted_content"])]
});

/// Thoughts are base64, in which these letters are the same in both alphabets; code that
/// another vendor's server ran keeps its id.
static GEMINI: LazyLock<[EnvelopeMarks; 2]> = LazyLock::new(|| {
    let signature = &["thoughtSignature", "thought_signature"];
    [
        EnvelopeMarks::new("\"cHJvd2Vzcy50aG91Z2h0cy4x", |_| true, signature),
        EnvelopeMarks::new("\"srvtoolu_", |_| true, &["id"]),
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
            (
                ClientDialect::Messages,
                r#"{"id":"srvtoolu_responses_ci_1"}"#,
            ),
            (
                ClientDialect::Messages,
                r#"{"tool_use_id": "srvtoolu_gemini_c1"}"#,
            ),
            (
                ClientDialect::Messages,
                r#"{"text":"[file_search_call]","queries":[]}"#,
            ),
            (
                ClientDialect::Messages,
                r#"{"text":"[image: image/png, 9 bytes]","source":{}}"#,
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
            (
                ClientDialect::Messages,
                r#"{"name":"srvtoolu_responses_ci_1"}"#,
            ),
            (
                ClientDialect::Messages,
                r#"{"text":"{\"id\":\"srvtoolu_responses_ci_1\"}"}"#,
            ),
            (ClientDialect::Messages, r#"{"text":"[]"}"#),
            (
                ClientDialect::Messages,
                r#"{"text":"[Request interrupted by user]"}"#,
            ),
            (ClientDialect::Messages, r#"{"text":"[done] and more"}"#),
            (ClientDialect::Messages, r#"{"content":"[done]"}"#),
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
