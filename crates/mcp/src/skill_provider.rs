//! Where a session gets its skills and its workspace. Implemented for folders here, and for
//! a tenant's stored skills by the server.

use futures_util::future::BoxFuture;
use prowess_toolbox::{Member, ToolboxLimits, ToolboxOptions, Workspace};
use std::sync::Arc;

/// Some hosts cut descriptions of tools after 2,048 bytes. Skills beyond that are found by
/// search.
const MAX_CATALOGUE_BYTES: usize = 1_700;

/// Provides skills, and a workspace for their code.
pub trait SkillProvider: Send + Sync + 'static {
    /// The current skills. Called before every list, and every few seconds while a client is
    /// subscribed: it must be cheap when nothing has changed.
    fn skills(&self) -> BoxFuture<'_, Result<SkillSet, SkillProviderError>>;

    /// A new workspace for a session's code; none if code execution is disabled.
    fn workspace<'a>(&'a self, skills: &'a SkillSet) -> BoxFuture<'a, Option<Workspace>>;

    /// Which tools are offered. Without a workspace, those that run code are omitted.
    fn options(&self) -> ToolboxOptions;

    /// Whether the tools of all skills are listed from the start instead of when their skill
    /// is loaded: for hosts that list the tools of a server only once.
    fn lists_skill_tools_at_once(&self) -> bool {
        false
    }
}

/// The skills at one moment.
#[derive(Debug, Clone)]
pub struct SkillSet {
    /// Changes whenever the skills do.
    pub revision: u64,
    /// The skills, sorted by name, each name once.
    pub members: Arc<[Member]>,
}

/// Why the skills cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read skills: {why}")]
pub struct SkillProviderError {
    /// The reason.
    pub why: String,
}

/// Default options for MCP: several conversations may share a session, and hosts cut long
/// descriptions.
#[must_use]
pub fn default_options() -> ToolboxOptions {
    ToolboxOptions {
        code_execution: true,
        remind_if_loaded: false,
        enforce_allowed_tools: false,
        limits: ToolboxLimits {
            catalogue_bytes: MAX_CATALOGUE_BYTES,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    }
}
