//! Ids of our making, which tell us later that they are ours.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// How the ids of our tool calls begin, where a client sees them as a server's.
const SERVER_CALL_PREFIX: &str = "srvtoolu_pw";
/// How the ids begin that Chat clients see of their own tools' calls: there they lead
/// back to the turns that the dialect could not carry.
const CHAT_CALL_PREFIX: &str = "call_pw";
/// A session's id, and the same as Responses clients know it.
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

/// Whether a request's bytes may speak of an earlier run of ours.
pub(crate) fn mentions_run_ids(body: &[u8]) -> bool {
    static MARKS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| [SERVER_CALL_PREFIX, CHAT_CALL_PREFIX].map(Finder::new));
    MARKS.iter().any(|mark| mark.find(body).is_some())
}

/// A session's id as the sandbox knows it, however the client wrote it.
pub(crate) fn container_id(written: &str) -> String {
    match written.strip_prefix(OPENAI_CONTAINER_PREFIX) {
        Some(rest) => format!("{CONTAINER_PREFIX}{rest}"),
        None => written.to_owned(),
    }
}

/// A session's id as OpenAI's clients expect one.
pub(crate) fn openai_container_id(id: &str) -> String {
    match id.strip_prefix(CONTAINER_PREFIX) {
        Some(rest) => format!("{OPENAI_CONTAINER_PREFIX}{rest}"),
        None => id.to_owned(),
    }
}

/// A stored skill's id. Those who come from LiteLLM write `litellm_skill_…` or
/// `litellm:skill_…` for `skill_…`.
pub(crate) fn skill_id(written: &str) -> &str {
    let bare = written
        .strip_prefix("litellm_")
        .or_else(|| written.strip_prefix("litellm:"));
    bare.filter(|id| id.starts_with("skill_"))
        .unwrap_or(written)
}

/// What stands for a secret where code runs.
pub(crate) fn new_secret_placeholder() -> String {
    format!("secret_pw{}", random_suffix())
}

fn random_suffix() -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(22)
        .collect()
}
