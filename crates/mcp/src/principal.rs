//! Who a request over HTTP is authenticated as. Authentication itself is the server's.

use std::sync::Arc;

use crate::skill_provider::SkillProvider;

/// Owner and key of a session: only the same pair finds it again.
pub(crate) type SessionOwner = (String, String);

/// Who is authenticated, and what a new session of theirs serves.
#[derive(Clone)]
pub struct McpPrincipal {
    /// The owner of the skills and sessions.
    pub owner: String,
    /// The owner's key that was used. A session is bound to the key it started with: another
    /// may have other permissions.
    pub key: String,
    /// Where a session gets its skills.
    pub provider: Arc<dyn SkillProvider>,
}

impl McpPrincipal {
    pub(crate) fn session_owner(&self) -> SessionOwner {
        (self.owner.clone(), self.key.clone())
    }
}
