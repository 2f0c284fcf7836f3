//! Thinking settings of a Claude model: a budget, an effort, or adaptive, whichever the
//! model supports.

use serde_json::{Value, json};

use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::effort::{EffortChoice, nearest_effort};
use crate::json_path::JsonPath;
use crate::models::{Disabling, Efforts, ThinkingModes};
use crate::neutral::{Content, Map, Message, Request, Role, Thinking, ThinkingMode};
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};

/// The minimum budget that Anthropic accepts.
const MIN_BUDGET_TOKENS: u64 = 1024;

/// The thinking settings of a request.
#[derive(Debug, Default)]
pub(crate) struct ReasoningSettings {
    /// `thinking`.
    pub(crate) thinking: Option<Value>,
    /// `output_config.effort`.
    pub(crate) effort: Option<String>,
}

impl ReasoningSettings {
    /// Whether thinking is enabled.
    pub(crate) fn is_on(&self) -> bool {
        let kind = self
            .thinking
            .as_ref()
            .and_then(|thinking| thinking.get("type"));
        let kind = kind.and_then(Value::as_str);
        matches!(kind, Some("enabled" | "adaptive"))
    }
}

/// The thinking settings, given the token limit of the whole response.
pub(crate) fn reasoning_settings(
    request: &Request,
    options: &WriteOptions,
    limit: u64,
    drops: &mut Drops,
) -> ReasoningSettings {
    let mut writer = Writer {
        request,
        options,
        limit,
        drops,
        effort: request.effort.clone().filter(|word| word != "default"),
    };
    let thinking = match &request.thinking {
        Some(thinking) => writer.client_thinking(thinking),
        None => writer.for_effort(),
    };
    let effort = writer.effort_level(thinking.as_ref());
    ReasoningSettings { thinking, effort }
}

struct Writer<'a> {
    request: &'a Request,
    options: &'a WriteOptions,
    limit: u64,
    drops: &'a mut Drops,
    /// The effort that is not written yet.
    effort: Option<String>,
}

impl Writer<'_> {
    /// The client's thinking settings, in a mode that the model supports.
    fn client_thinking(&mut self, thinking: &Thinking) -> Option<Value> {
        let off = self.effort.as_deref() == Some("none");
        match (&thinking.mode, self.options.capabilities.thinking) {
            (ThinkingMode::Disabled, _) => self.switch_off("thinking", Some(thinking)),
            (ThinkingMode::Enabled { .. } | ThinkingMode::Adaptive, ThinkingModes::None) => {
                self.drops
                    .add("thinking", "the model does not support thinking");
                None
            }
            (ThinkingMode::Enabled { budget_tokens }, ThinkingModes::Adaptive(_)) => {
                if self.effort.is_none() || off {
                    self.effort = Some(crate::effort::budget_to_effort(*budget_tokens).to_owned());
                }
                self.adaptive(thinking)
            }
            (ThinkingMode::Adaptive, ThinkingModes::Budget) => {
                let path = &JsonPath::Root.key("thinking");
                self.drops.rest(path, &thinking.rest);
                let effort = self.effort.take().filter(|word| word != "none");
                let budget = effort.as_deref().and_then(crate::effort::effort_to_budget);
                let started = self.start(budget.unwrap_or(8192));
                if started.is_none() {
                    self.drops.add(path, CANNOT_THINK);
                }
                started
            }
            (ThinkingMode::Adaptive, _) => self.adaptive(thinking),
            (ThinkingMode::Enabled { budget_tokens }, _) if !self.is_own() => {
                let started = self.start((*budget_tokens).max(MIN_BUDGET_TOKENS));
                if started.is_none() {
                    self.drops.add("thinking", CANNOT_THINK);
                }
                started.map(|started| with_rest(started, thinking))
            }
            _ => Some(write_thinking(thinking)),
        }
    }

    /// Clients of Anthropic's dialect send what it accepts, and get its own errors.
    fn is_own(&self) -> bool {
        self.request.client_dialect() == Dialect::Messages
    }

    /// Adaptive thinking, which may begin anywhere except where a tool is forced.
    fn adaptive(&mut self, thinking: &Thinking) -> Option<Value> {
        if !self.is_own() && self.request.forces_tool() {
            self.drops.add("thinking", CANNOT_THINK);
            return None;
        }
        Some(write_mode(ThinkingMode::Adaptive, thinking))
    }

    /// The equivalent of an effort for a model without effort levels, or without thinking.
    fn for_effort(&mut self) -> Option<Value> {
        let effort = self.effort.as_deref()?;
        let Some(budget) = crate::effort::effort_to_budget(effort) else {
            self.effort = None;
            return self.switch_off("output_config.effort", None);
        };
        if self.options.effort_levels {
            return None;
        }
        self.effort = None;
        let thinks = self.options.capabilities.thinking != ThinkingModes::None;
        let started = thinks.then(|| self.start(budget)).flatten();
        if started.is_none() {
            let why = if thinks {
                CANNOT_THINK
            } else {
                "the model does not support thinking"
            };
            self.drops.add("output_config.effort", why);
        }
        started
    }

    /// No thinking, in the form the model accepts.
    fn switch_off(&mut self, field: &str, stated: Option<&Thinking>) -> Option<Value> {
        match self.options.capabilities.thinking {
            // It does not think anyway.
            ThinkingModes::None | ThinkingModes::Adaptive(Disabling::Omit) => None,
            ThinkingModes::Adaptive(Disabling::Never) => {
                self.drops
                    .add(field, "thinking cannot be disabled for this model");
                None
            }
            _ => Some(stated.map_or_else(|| json!({"type": "disabled"}), write_thinking)),
        }
    }

    /// A budget that leaves room for a response, where thinking may begin at all.
    fn start(&self, budget: u64) -> Option<Value> {
        let budget = budget.min(self.limit.saturating_sub(1));
        let may = budget >= MIN_BUDGET_TOKENS && may_start_thinking(self.request);
        may.then(|| json!({"type": "enabled", "budget_tokens": budget}))
    }

    /// The effort level that remains to be written.
    fn effort_level(&mut self, thinking: Option<&Value>) -> Option<String> {
        let effort = self.effort.take().filter(|word| word != "none")?;
        if !self.options.effort_levels {
            // A budget next to it is more exact.
            if !has_budget(thinking) {
                self.drops.add(
                    "output_config.effort",
                    "the model does not support effort levels",
                );
            }
            return None;
        }
        let efforts = self.options.capabilities.efforts;
        if efforts == Efforts::Unknown {
            return crate::effort::anthropic_effort(&effort).map(str::to_owned);
        }
        let word = match nearest_effort(&effort, efforts) {
            EffortChoice::Level(word) => Some(word),
            EffortChoice::Default => None,
            EffortChoice::Refused => {
                self.drops.add(
                    "output_config.effort",
                    "the model does not support this effort",
                );
                None
            }
        };
        // Without thinking, the highest levels are refused.
        let mode = thinking.and_then(|thinking| thinking.get("type")?.as_str());
        let disabled = matches!(mode, Some("disabled" | "between_tools"));
        word.map(|word| match word.as_str() {
            "xhigh" | "max" if disabled => "high".to_owned(),
            _ => word,
        })
    }
}

const CANNOT_THINK: &str = "thinking is not allowed here, or max_tokens is too small for it";

fn has_budget(thinking: Option<&Value>) -> bool {
    thinking.is_some_and(|thinking| thinking.get("budget_tokens").is_some())
}

/// Anthropic does not allow thinking to begin when a tool is forced, or in the middle of a
/// loop whose calls have no thoughts.
fn may_start_thinking(request: &Request) -> bool {
    let mut assistant = request.messages.iter().rev();
    let last = assistant.find(|message| message.role == Role::Assistant);
    !request.forces_tool() && !last.is_some_and(calls_without_a_thought)
}

fn calls_without_a_thought(message: &Message) -> bool {
    let mut blocks = message.content.iter();
    let calls = blocks
        .clone()
        .any(|block| matches!(block.content, Content::ToolUse { .. }));
    let thought = blocks.any(|block| match &block.content {
        Content::Thinking { signature, .. } => {
            matches!(decode_envelope(signature), SignatureEnvelope::Anthropic(_))
        }
        Content::RedactedThinking { .. } => true,
        _ => false,
    });
    calls && !thought
}

pub(crate) fn write_thinking(thinking: &Thinking) -> Value {
    write_mode(thinking.mode.clone(), thinking)
}

fn write_mode(mode: ThinkingMode, thinking: &Thinking) -> Value {
    let map = match mode {
        ThinkingMode::Enabled { budget_tokens } => Map::from_iter([
            ("type".to_owned(), "enabled".into()),
            ("budget_tokens".to_owned(), budget_tokens.into()),
        ]),
        ThinkingMode::Adaptive => Map::from_iter([("type".to_owned(), "adaptive".into())]),
        ThinkingMode::Disabled => Map::from_iter([("type".to_owned(), "disabled".into())]),
        ThinkingMode::Other(kind) => Map::from_iter([("type".to_owned(), kind.into())]),
    };
    with_rest(Value::Object(map), thinking)
}

/// The thinking settings, with the options that only Anthropic supports.
fn with_rest(mut value: Value, thinking: &Thinking) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.extend(thinking.rest.clone());
    }
    value
}
