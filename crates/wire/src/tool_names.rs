//! Tool names and call ids that every provider accepts.
//!
//! The strictest provider allows `[A-Za-z_][A-Za-z0-9_-]{0,63}`. Valid names are
//! unchanged; others are replaced by a name derived from it alone, so the
//! same request gives the same bytes and prompt caches hold.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::neutral::{Content, Request};

const MAX_NAME_CHARS: usize = 64;

/// The names that had to be replaced in one request, to be put back in its response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolNameMap {
    replaced: Vec<(String, String)>,
    /// The plain names of members of namespaces.
    members: HashMap<(String, String), String>,
}

impl ToolNameMap {
    /// The replaced names of a request's tools and past calls.
    pub(crate) fn from_request(request: &Request) -> Self {
        let mut names = ToolNameMap::default();
        for tool in &request.tools {
            names.note(&tool.name);
        }
        for block in request.messages.iter().flat_map(|m| &m.content) {
            if let Content::ToolUse { name, .. } = &block.content {
                names.note(name);
            }
        }
        let members = request.client_tools.members();
        names.members = members
            .map(|(member, name)| (member.clone(), name.to_owned()))
            .collect();
        names
    }

    fn note(&mut self, name: &str) {
        if let Cow::Owned(sent) = safe_name(name)
            && !self.replaced.iter().any(|(known, _)| *known == sent)
        {
            self.replaced.push((sent, name.to_owned()));
        }
    }

    /// The client's name for a name the model used.
    pub(crate) fn original(&self, sent: String) -> String {
        self.replaced
            .iter()
            .find(|(known, _)| *known == sent)
            .map_or(sent, |(_, original)| original.clone())
    }

    /// The plain name of a tool that a server called by its namespace and name.
    pub(crate) fn plain_name(&self, namespace: &str, name: &str) -> Option<String> {
        let member = (namespace.to_owned(), name.to_owned());
        self.members.get(&member).cloned()
    }
}

/// The plain names in use, each of them once.
#[derive(Debug, Default)]
pub(crate) struct ReservedNames(HashSet<String>);

impl ReservedNames {
    /// Keeps a name for the tool that has it already.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.0.insert(safe_name(name).into_owned());
    }

    /// The name itself, or a similar one that no other tool has. It is derived from the
    /// name alone, so that prompts stay the same.
    pub(crate) fn unique(&mut self, base: &str) -> String {
        let name = safe_name(base).into_owned();
        if self.0.insert(name.clone()) {
            return name;
        }
        let kept: String = name.chars().take(50).collect();
        let mut number = 0_usize;
        loop {
            let other = format!("{kept}_{}", digest(&format!("{base}/{number}"), 12));
            if self.0.insert(other.clone()) {
                return other;
            }
            number += 1;
        }
    }
}

/// The namespace of Codex' own functions; it has no meaning.
const DEFAULT_NAMESPACE: &str = "functions";

/// One name for a member of a namespace; it may be too long for providers.
pub(crate) fn member_name(namespace: &str, name: &str) -> String {
    match namespace {
        DEFAULT_NAMESPACE | "" => name.to_owned(),
        joined if joined.ends_with("__") => format!("{joined}{name}"),
        plain => format!("{plain}__{name}"),
    }
}

/// A name that every provider accepts.
pub(crate) fn safe_name(name: &str) -> Cow<'_, str> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && is_word(name) {
        return Cow::Borrowed(name);
    }
    let kept: String = name
        .chars()
        .take(50)
        .map(|c| if word_char(c) { c } else { '_' })
        .collect();
    Cow::Owned(format!("t_{kept}_{}", digest(name, 8)))
}

/// A call id that every provider accepts.
pub(crate) fn safe_id(id: &str) -> Cow<'_, str> {
    if is_word(id) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("toolu_{}", digest(id, 24)))
    }
}

/// A call id of nine letters and digits: Mistral's models get no other.
pub(crate) fn nine_character_id(id: &str) -> Cow<'_, str> {
    const LENGTH: usize = 9;
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    let hash = Sha256::digest(id.as_bytes());
    let digits = hash.iter().take(LENGTH).filter_map(|byte| {
        let digit = DIGITS.get(usize::from(*byte) % DIGITS.len());
        digit.map(|digit| char::from(*digit))
    });
    Cow::Owned(digits.collect())
}

/// The id of the n-th call of a response whose provider sends no call ids.
pub(crate) fn generated_call_id(answer: &str, n: usize) -> String {
    format!("toolu_{}", digest(&format!("{answer}/{n}"), 24))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_CHARS && text.chars().all(word_char)
}

fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

pub(crate) fn digest(text: &str, hex_digits: usize) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(hex_digits)
        .filter_map(|nibble| char::from_digit(u32::from(nibble), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::neutral::Tool;

    #[test]
    fn a_name_that_fits_goes_through_unchanged() {
        assert_eq!(safe_name("get_weather-2"), "get_weather-2");
        assert_eq!(safe_id("call_abc-1"), "call_abc-1");
    }

    #[test]
    fn a_name_that_does_not_fit_is_replaced_and_put_back() {
        let long = "ä.".repeat(60);
        let mut request = Request::new(Dialect::Chat, "m");
        for name in ["files/read", "files.read", "2nd", long.as_str()] {
            request
                .tools
                .push(Tool::function(name, "d", serde_json::json!({})));
        }
        let names = ToolNameMap::from_request(&request);
        for tool in &request.tools {
            let sent = safe_name(&tool.name).into_owned();
            assert!(sent.len() <= MAX_NAME_CHARS && is_word(&sent), "{sent}");
            assert_eq!(names.original(sent), tool.name);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_given_once_more_in_another_form() {
        let mut taken = ReservedNames::default();
        taken.reserve("mcp__a__b");
        let first = taken.unique("mcp__a__b");
        let second = taken.unique("mcp__a__b");
        assert!(
            first.starts_with("mcp__a__b_") && is_word(&first),
            "{first}"
        );
        assert!(first != second && is_word(&second), "{second}");
        let long = taken.unique(&format!("mcp__{}__b", "a".repeat(80)));
        assert!(is_word(&long), "{long}");
        assert_eq!(member_name("functions", "exec"), "exec");
        assert_eq!(member_name("mcp__a__", "b"), member_name("mcp__a", "b"));
    }

    #[test]
    fn an_id_with_strange_characters_is_replaced_the_same_way_each_time() {
        assert_eq!(safe_id("a b"), safe_id("a b"));
        assert!(is_word(&safe_id("functions.f:0")));
    }

    #[test]
    fn an_id_of_nine_letters_and_digits_is_unchanged_and_any_other_is_replaced_by_one() {
        assert_eq!(nine_character_id("D681PevKs"), "D681PevKs");
        for id in [
            "",
            "call_1",
            "toolu_1",
            "D681PevK",
            "D681Pev-s",
            "äääää",
            "D681PevKsx",
        ] {
            let short = nine_character_id(id);
            assert_eq!(short, nine_character_id(id), "{id}");
            assert_eq!(nine_character_id(&short), short, "{id}");
            assert_eq!(short.len(), 9, "{id}");
        }
        assert_ne!(nine_character_id("call_1"), nine_character_id("call_2"));
    }
}
