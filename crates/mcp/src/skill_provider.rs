//! What a session is made of, and from whom. Implemented over folders here, and over a
//! tenant's stored skills by the server.

use futures_util::future::BoxFuture;
use prowess_toolbox::{Member, ToolboxLimits, ToolboxOptions, Workspace};
use std::sync::Arc;

/// Hosts cut descriptions of tools, some after 2,048 bytes. What would be cut is found by
/// searching instead.
const MAX_CATALOGUE_BYTES: usize = 1_700;

/// Where skills come from, and where their code runs.
pub trait SkillProvider: Send + Sync + 'static {
    /// The skills there are now. Asked before every list, and every few seconds while
    /// somebody listens: it must be cheap when nothing has changed.
    fn skills(&self) -> BoxFuture<'_, Result<SkillSet, SkillProviderError>>;

    /// A fresh place for a session's code to run in; nothing if none is to run.
    fn workspace<'a>(&'a self, skills: &'a SkillSet) -> BoxFuture<'a, Option<Workspace>>;

    /// Which tools are offered. Those that run code are left out without a workspace.
    fn options(&self) -> ToolboxOptions;

    /// Whether the tools of all skills are listed from the start, instead of when their
    /// skill is loaded: for hosts that list the tools of a server once.
    fn lists_skill_tools_at_once(&self) -> bool {
        false
    }
}

/// The skills at one moment.
#[derive(Debug, Clone)]
pub struct SkillSet {
    /// Differs whenever the skills do.
    pub revision: u64,
    /// The skills, sorted by name, each name once.
    pub members: Arc<[Member]>,
}

/// Why there are no skills.
#[derive(Debug, thiserror::Error)]
#[error("the skills cannot be read: {why}")]
pub struct SkillProviderError {
    /// The reason.
    pub why: String,
}

/// What suits MCP: several conversations may share a session, and hosts cut what is long.
#[must_use]
pub fn default_options() -> ToolboxOptions {
    ToolboxOptions {
        code_execution: true,
        remind_if_loaded: false,
        limits: ToolboxLimits {
            catalogue_bytes: MAX_CATALOGUE_BYTES,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    }
}
