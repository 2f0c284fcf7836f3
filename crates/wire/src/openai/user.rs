//! The end user's id, as OpenAI's servers accept it.

use crate::Dialect;
use crate::neutral::Request;
use crate::tool_names::digest;

/// The longest id that OpenAI accepts.
const MAX_USER_CHARS: usize = 64;

/// The id to send. Anthropic's clients send longer ones than OpenAI and the servers compatible
/// with it accept. Ids are only compared, so the hash of such an id serves as well.
pub(crate) fn user_for_request(request: &Request) -> Option<String> {
    let user = request.user.as_ref()?;
    let is_own = matches!(request.origin, Dialect::Chat | Dialect::Responses);
    if is_own || user.chars().count() <= MAX_USER_CHARS {
        return Some(user.clone());
    }
    Some(format!("user_{}", digest(user, 32)))
}
