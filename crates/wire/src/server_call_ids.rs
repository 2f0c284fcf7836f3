//! Ids of calls that another vendor's servers answered, for Messages clients.
//!
//! Clients send these calls back, and Anthropic refuses a conversation in which the id of a server
//! tool's call has another form than its own. So an id is written in that form, with a word that
//! says what the call was, and is read from it when the call comes back.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How ids of Anthropic's server tools begin; letters, digits and underscores follow.
const PREFIX: &str = "srvtoolu_";
/// Begins a byte that has no place in such an id: two hexadecimal digits follow.
const ESCAPE: u8 = b'Z';

const RESPONSES: &str = "responses_";
const GEMINI: &str = "gemini_";
const OTHER: &str = "other_";
/// What follows the prefix in the ids that are written here.
pub(crate) const WORDS: [&str; 3] = [RESPONSES, GEMINI, OTHER];

/// What a call was, where that decides what it becomes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerCallOrigin {
    /// An item of the Responses API.
    Responses,
    /// A part of Gemini's.
    Gemini,
    /// A call that goes back as an ordinary one.
    Other,
}

impl ServerCallOrigin {
    const ALL: [ServerCallOrigin; 3] = [
        ServerCallOrigin::Responses,
        ServerCallOrigin::Gemini,
        ServerCallOrigin::Other,
    ];

    fn word(self) -> &'static str {
        match self {
            ServerCallOrigin::Responses => RESPONSES,
            ServerCallOrigin::Gemini => GEMINI,
            ServerCallOrigin::Other => OTHER,
        }
    }
}

/// The id of a call for a Messages client. One that Anthropic accepts is unchanged.
pub(crate) fn client_id(origin: ServerCallOrigin, id: &str) -> Cow<'_, str> {
    if is_accepted(id) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("{PREFIX}{}{}", origin.word(), escape(id)))
}

/// What a call with this id was, and the id that it had; `None` if [`client_id`] did not write it.
pub(crate) fn original_id(id: &str) -> Option<(ServerCallOrigin, String)> {
    let rest = id.strip_prefix(PREFIX)?;
    ServerCallOrigin::ALL.into_iter().find_map(|origin| {
        let escaped = rest.strip_prefix(origin.word())?;
        Some((origin, unescape(escaped)?))
    })
}

/// Whether another vendor's servers ran a call with this id.
pub(crate) fn is_foreign(id: &str) -> bool {
    original_id(id).is_some()
}

fn is_accepted(id: &str) -> bool {
    let rest = id.strip_prefix(PREFIX);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_word))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn escape(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        if is_word(byte) && byte != ESCAPE {
            out.push(char::from(byte));
        } else {
            out.push(char::from(ESCAPE));
            // Writing to a string cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == ESCAPE {
            let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
            out.push((high << 4) | low);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_that_anthropic_accepts_is_unchanged_and_nobody_elses() {
        for id in ["srvtoolu_01AbZ9", "srvtoolu_pwMZvykQ7a4"] {
            assert_eq!(client_id(ServerCallOrigin::Responses, id), id);
            assert_eq!(original_id(id), None);
        }
        for id in [
            "ws_1",
            "",
            "toolu_1",
            "srvtoolu_other_Z",
            "srvtoolu_other_Zff",
        ] {
            assert_eq!(original_id(id), None, "{id}");
        }
    }

    #[test]
    fn an_ordinary_id_stays_readable() {
        let id = client_id(ServerCallOrigin::Responses, "ws_0a1b");
        assert_eq!(id, "srvtoolu_responses_ws_0a1b");
    }

    proptest! {
        #[test]
        fn any_id_is_written_as_anthropic_accepts_it_and_read_again(id in ".{0,40}") {
            for origin in ServerCallOrigin::ALL {
                let shown = client_id(origin, &id);
                prop_assert!(is_accepted(&shown), "{shown}");
                prop_assert_eq!(original_id(&shown), Some((origin, id.clone())));
                // It stays the same when it is shown again.
                prop_assert_eq!(client_id(ServerCallOrigin::Other, &shown), &*shown);
            }
        }
    }
}
