//! Ids that Prowess issues and recognises again by their prefixes.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Calls of Prowess's tools, which clients see as server tool calls.
const SERVER_CALL_PREFIX: &str = "srvtoolu_pw";
/// Calls of the client's own tools in dialects that lose turns: the turns are stored under
/// these ids.
const CHAT_CALL_PREFIX: &str = "call_pw";
/// How both of these prefixes end.
const COMMON_PREFIX_END: &str = "_pw";
/// A container's id, and the form that OpenAI's clients get.
const CONTAINER_PREFIX: &str = "container_";
const OPENAI_CONTAINER_PREFIX: &str = "cntr_";

pub(crate) fn new_server_call_id() -> String {
    format!("{SERVER_CALL_PREFIX}{}", random_suffix())
}

pub(crate) fn new_chat_call_id() -> String {
    format!("{CHAT_CALL_PREFIX}{}", random_suffix())
}

pub(crate) fn is_server_call(id: &str) -> bool {
    id.starts_with(SERVER_CALL_PREFIX)
}

pub(crate) fn is_chat_call(id: &str) -> bool {
    id.starts_with(CHAT_CALL_PREFIX)
}

/// Whether a request's bytes may contain calls of an earlier run.
pub(crate) fn mentions_run_ids(body: &[u8]) -> bool {
    static COMMON: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(COMMON_PREFIX_END));
    static MARKS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [SERVER_CALL_PREFIX, CHAT_CALL_PREFIX].map(Finder::new));
    // Most bodies have neither, which one search shows.
    COMMON.find(body).is_some() && MARKS.iter().any(|mark| mark.find(body).is_some())
}

/// A container's id in the sandbox, from either form.
pub(crate) fn container_id(written: &str) -> String {
    match written.strip_prefix(OPENAI_CONTAINER_PREFIX) {
        Some(rest) => format!("{CONTAINER_PREFIX}{rest}"),
        None => written.to_owned(),
    }
}

/// A container's id as OpenAI's clients expect it.
pub(crate) fn openai_container_id(id: &str) -> String {
    match id.strip_prefix(CONTAINER_PREFIX) {
        Some(rest) => format!("{OPENAI_CONTAINER_PREFIX}{rest}"),
        None => id.to_owned(),
    }
}

/// A stored skill's id. Clients of LiteLLM write `litellm_skill_…` or `litellm:skill_…` for
/// `skill_…`.
pub(crate) fn skill_id(written: &str) -> &str {
    let bare = written
        .strip_prefix("litellm_")
        .or_else(|| written.strip_prefix("litellm:"));
    bare.filter(|id| id.starts_with("skill_"))
        .unwrap_or(written)
}

/// Whether a request's bytes may contain secrets for its code.
#[must_use]
pub fn names_secrets(body: &[u8]) -> bool {
    static MARK: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"domain_secrets\""));
    static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u00"));
    MARK.find(body).is_some() || (ESCAPE.find(body).is_some() && has_escaped_name(body))
}

/// The same for a name that is written with escapes, without a copy of the body. A match that fails
/// can only begin again with the byte that fails it: quotes are at both ends of the name alone.
fn has_escaped_name(json: &[u8]) -> bool {
    const NAME: &[u8] = b"\"domain_secrets\"";
    let (mut rest, mut matched) = (json, 0);
    while let Some((first, tail)) = rest.split_first() {
        let (letter, next) = match rest {
            [b'\\', b'u', b'0', b'0', high, low, next @ ..] => (escaped_letter(*high, *low), next),
            [b'\\', _, next @ ..] => (None, next),
            _ => (Some(*first), tail),
        };
        matched = match letter {
            Some(letter) if NAME.get(matched) == Some(&letter) => matched + 1,
            Some(b'"') => 1,
            _ => 0,
        };
        if matched == NAME.len() {
            return true;
        }
        rest = next;
    }
    false
}

/// The letter or underscore that has these two hexadecimal digits.
fn escaped_letter(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let code = digit(high)? * 16 + digit(low)?;
    let letter = u8::try_from(code).ok()?;
    (letter.is_ascii_alphabetic() || letter == b'_').then_some(letter)
}

/// The placeholder of a secret inside the sandbox.
pub(crate) fn new_secret_placeholder() -> String {
    format!("secret_pw{}", random_suffix())
}

fn random_suffix() -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(22)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_mentions_calls_of_a_run_by_either_prefix() {
        for id in [new_server_call_id(), new_chat_call_id()] {
            assert!(mentions_run_ids(format!(r#"{{"id":"{id}"}}"#).as_bytes()));
        }
        for other in ["", "toolu_1", "the_pwd", "call_p", "srvtoolu_1", "call_PW"] {
            assert!(!mentions_run_ids(other.as_bytes()), "{other}");
        }
    }
}
