//! Who a request over HTTP is authenticated as. Authentication itself is the server's.

use std::sync::Arc;

use crate::skill_provider::SkillProvider;

/// Whom a session belongs to: only the same finds it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionOwner {
    owner: String,
    key: String,
    /// What a session serves is decided when it begins, so a key that may run code and later
    /// may not has other sessions from then on.
    can_run_code: bool,
}

/// Who is authenticated, and what a new session of theirs serves.
#[derive(Clone)]
pub struct McpPrincipal {
    /// The owner of the skills and sessions.
    pub owner: String,
    /// The owner's key that was used. A session is bound to the key it started with: another
    /// may have other permissions.
    pub key: String,
    /// Whether the key may run code now.
    pub can_run_code: bool,
    /// Where a session gets its skills.
    pub provider: Arc<dyn SkillProvider>,
}

impl McpPrincipal {
    pub(crate) fn session_owner(&self) -> SessionOwner {
        SessionOwner {
            owner: self.owner.clone(),
            key: self.key.clone(),
            can_run_code: self.can_run_code,
        }
    }
}
