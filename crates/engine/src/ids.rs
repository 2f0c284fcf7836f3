//! Ids of our making, which tell us later that they are ours.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// How the ids of our tool calls begin, where a client sees them as a server's.
const SERVER_CALL: &str = "srvtoolu_pw";
/// How the ids begin that Chat clients see of their own tools' calls: there they lead
/// back to the turns that the dialect could not carry.
const CHAT_CALL: &str = "call_pw";
/// A session's id, and the same as Responses clients know it.
const SESSION: &str = "container_";
const OPENAI_SESSION: &str = "cntr_";

pub(crate) fn server_call() -> String {
    format!("{SERVER_CALL}{}", letters())
}

pub(crate) fn chat_call() -> String {
    format!("{CHAT_CALL}{}", letters())
}

pub(crate) fn is_server_call(id: &str) -> bool {
    id.starts_with(SERVER_CALL)
}

pub(crate) fn is_chat_call(id: &str) -> bool {
    id.starts_with(CHAT_CALL)
}

/// Whether a request's bytes may speak of an earlier run of ours.
pub(crate) fn mentions_ours(body: &[u8]) -> bool {
    static MARKS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [SERVER_CALL, CHAT_CALL].map(Finder::new));
    MARKS.iter().any(|mark| mark.find(body).is_some())
}

/// A session's id as the sandbox knows it, however the client wrote it.
pub(crate) fn session(written: &str) -> String {
    match written.strip_prefix(OPENAI_SESSION) {
        Some(rest) => format!("{SESSION}{rest}"),
        None => written.to_owned(),
    }
}

/// A session's id as OpenAI's clients expect one.
pub(crate) fn openai_session(id: &str) -> String {
    match id.strip_prefix(SESSION) {
        Some(rest) => format!("{OPENAI_SESSION}{rest}"),
        None => id.to_owned(),
    }
}

/// A stored skill's id. Those who come from LiteLLM write `litellm_skill_…` or
/// `litellm:skill_…` for `skill_…`.
pub(crate) fn skill(written: &str) -> &str {
    let bare = written
        .strip_prefix("litellm_")
        .or_else(|| written.strip_prefix("litellm:"));
    bare.filter(|id| id.starts_with("skill_"))
        .unwrap_or(written)
}

/// What stands for a secret where code runs.
pub(crate) fn stand_in() -> String {
    format!("secret_pw{}", letters())
}

fn letters() -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(22)
        .collect()
}
