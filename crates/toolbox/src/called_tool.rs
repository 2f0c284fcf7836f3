//! One call of a tool, as the code behind the tool gets it.

use crate::spec::ToolSpec;
use prowess_sandbox::OutputChunk;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// Receives output while a command runs.
pub(crate) type ProgressSender = Option<UnboundedSender<OutputChunk>>;

/// The tool that is called, and with what.
#[derive(Debug)]
pub(crate) struct CalledTool<'a> {
    /// The tool as the model sees it; its name may differ from the one in a skill.
    pub(crate) spec: &'a ToolSpec,
    /// The arguments, not checked yet.
    pub(crate) input: &'a Value,
    pub(crate) progress: ProgressSender,
}
