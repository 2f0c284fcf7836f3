//! Thinking modes that only Anthropic has.

use crate::Dialect;
use crate::neutral::{Request, ThinkingMode};

/// Thinking is off; what the model writes between its calls comes as thoughts.
const BETWEEN_TOOLS: &str = "between_tools";

/// Whether a request has a mode that the target lacks. Models behind Converse may be Anthropic's.
pub(super) fn has_unknown_mode(request: &Request, target: Dialect) -> bool {
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    let is_between_tools = matches!(mode, Some(ThinkingMode::Other(kind)) if kind == BETWEEN_TOOLS);
    is_between_tools && target != Dialect::Converse
}

/// Replaces such a mode by what it is for the model.
pub(super) fn adapt(request: &mut Request, target: Dialect) {
    if has_unknown_mode(request, target)
        && let Some(thinking) = &mut request.thinking
    {
        thinking.mode = ThinkingMode::Disabled;
    }
}
