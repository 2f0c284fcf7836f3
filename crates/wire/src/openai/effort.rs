//! Reasoning effort in OpenAI's dialects.

use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::effort::{EffortChoice, nearest_effort};
use crate::models::{Efforts, Family, Sampling};
use crate::neutral::{Request, ThinkingMode};

/// The effort to request. A thinking budget becomes the nearest level; OpenAI accepts no
/// token counts.
pub(crate) fn effort_for_request(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Option<String> {
    let word = requested_effort(request, options, drops)?;
    match nearest_effort(&word, efforts(options)) {
        EffortChoice::Level(word) => Some(word),
        EffortChoice::Default => None,
        EffortChoice::Refused => {
            let why = "the model does not support this effort";
            drops.add(effort_source(request), why);
            None
        }
    }
}

/// The setting that an effort comes from.
pub(crate) fn effort_source(request: &Request) -> &'static str {
    match &request.effort {
        Some(_) => "output_config.effort",
        None => "thinking",
    }
}

/// The levels of a model whose own API this is. For a model of another API the server
/// decides what to do with them.
fn efforts(options: &WriteOptions) -> Efforts {
    match options.capabilities.family {
        Family::Claude | Family::Gemini => Efforts::Unknown,
        Family::Nova | Family::Chat | Family::Unknown => options.capabilities.efforts,
    }
}

/// Whether a model is known not to reason. Some reasoning models support no effort either,
/// but are stricter about other settings.
pub(crate) fn does_not_reason(options: &WriteOptions) -> bool {
    let known = options.capabilities;
    efforts(options) == Efforts::None && known.sampling == Sampling::Any && !known.no_stop
}

/// Whether the client disables thinking.
pub(crate) fn disables_thinking(request: &Request) -> bool {
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    match request.effort.as_deref() {
        Some(effort) => effort == "none",
        None => mode == Some(&ThinkingMode::Disabled),
    }
}

fn requested_effort(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Option<String> {
    if let Some(thinking) = &request.thinking {
        drops.rest(
            &crate::json_path::JsonPath::Root.key("thinking"),
            &thinking.rest,
        );
    }
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    if let Some(effort) = &request.effort {
        if let Some(ThinkingMode::Enabled { .. }) = mode {
            let why = "OpenAI has no thinking budget; the effort is sent instead";
            drops.add("thinking.budget_tokens", why);
        }
        return Some(effort.clone());
    }
    match mode? {
        ThinkingMode::Enabled { budget_tokens } => {
            Some(crate::effort::budget_to_effort(*budget_tokens).to_owned())
        }
        ThinkingMode::Disabled if request.origin == Dialect::Messages => {
            match efforts(options) {
                Efforts::Levels(levels) if levels.contains(&"none") => Some("none".to_owned()),
                // It does not think anyway.
                Efforts::None => None,
                _ => {
                    drops.add("thinking", "not every OpenAI model can disable reasoning");
                    None
                }
            }
        }
        ThinkingMode::Disabled => Some("none".to_owned()),
        ThinkingMode::Adaptive | ThinkingMode::Other(_) => None,
    }
}
