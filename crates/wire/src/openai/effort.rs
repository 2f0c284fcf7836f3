//! How hard the model thinks, in OpenAI's words.

use crate::Dialect;
use crate::drops::Drops;
use crate::neutral::{Request, ThinkingMode};

/// The effort to ask for. A thinking budget becomes the nearest level; OpenAI takes no
/// token counts.
pub(crate) fn effort_of(request: &Request, drops: &mut Drops) -> Option<String> {
    if let Some(thinking) = &request.thinking {
        drops.rest(&crate::fields::Path::Root.key("thinking"), &thinking.rest);
    }
    if request.effort.is_some() {
        return request.effort.clone();
    }
    match &request.thinking.as_ref()?.mode {
        ThinkingMode::Enabled { budget_tokens } => {
            Some(crate::effort::level(*budget_tokens).to_owned())
        }
        ThinkingMode::Disabled if request.origin == Dialect::Messages => {
            drops.add(
                "thinking",
                "not every OpenAI model can be told not to think",
            );
            None
        }
        ThinkingMode::Disabled => Some("none".to_owned()),
        ThinkingMode::Adaptive | ThinkingMode::Other(_) => None,
    }
}
