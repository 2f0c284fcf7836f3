//! Writes Gemini's `thinkingConfig`: a budget or a level, whichever the model supports.

use serde_json::Value;

use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::effort::{EffortChoice, nearest_effort};
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::models::{Budgets, Efforts, ThinkingModes};
use crate::neutral::{Map, Request, ThinkingMode};

const EFFORT: &str = "output_config.effort";
/// The highest level.
const HIGHEST: &str = "xhigh";

/// A budget or a level, never both: Gemini refuses that.
pub(super) fn thinking(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Option<Value> {
    let mode = request.thinking.as_ref().map(|thinking| {
        drops.rest(&JsonPath::Root.key("thinking"), &thinking.rest);
        &thinking.mode
    });
    let effort = request.effort.as_deref().filter(|word| *word != "default");
    if options.capabilities.thinking == ThinkingModes::None {
        return does_not_think(mode, effort, drops);
    }
    let mut map = Map::new();
    // A Gemini client itself specifies whether it is shown thoughts.
    let own = request.origin == Dialect::Gemini;
    if let (false, Some(ThinkingMode::Enabled { .. } | ThinkingMode::Adaptive)) = (own, mode) {
        map.insert("includeThoughts".to_owned(), true.into());
    }
    match (mode, effort) {
        (Some(ThinkingMode::Disabled), _) | (_, Some("none")) => off(options, &mut map, drops),
        (Some(ThinkingMode::Enabled { budget_tokens }), effort) => {
            if effort.is_some() {
                let why = "Gemini accepts a thinking budget or a level, not both";
                drops.add(EFFORT, why);
            }
            budget(*budget_tokens, options, &mut map);
        }
        // Only some of the newest models have it. Gemini's own clients know which, and get
        // Google's error for all others.
        (_, Some(HIGHEST)) if own && options.effort_levels => {
            put(&mut map, "thinkingLevel", Some(HIGHEST));
        }
        (_, Some(effort)) if options.effort_levels => level(effort, options, &mut map, drops),
        (_, Some(effort)) => {
            if let Some(tokens) = crate::effort::effort_to_budget(effort) {
                budget(tokens, options, &mut map);
            }
        }
        (_, None) => {}
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

fn does_not_think(
    mode: Option<&ThinkingMode>,
    effort: Option<&str>,
    drops: &mut Drops,
) -> Option<Value> {
    let why = "the model does not support thinking";
    if let Some(ThinkingMode::Enabled { .. } | ThinkingMode::Adaptive) = mode {
        drops.add("thinking", why);
    }
    if effort.is_some_and(|effort| effort != "none") {
        drops.add(EFFORT, why);
    }
    None
}

/// No thinking, or as little as the model allows.
fn off(options: &WriteOptions, map: &mut Map, drops: &mut Drops) {
    match (options.capabilities.efforts, options.capabilities.budgets) {
        (Efforts::Levels(_), _) => level("none", options, map, drops),
        (_, Some(budgets)) if !budgets.zero => {
            put(map, "thinkingBudget", Some(budgets.min));
        }
        _ => put(map, "thinkingBudget", Some(0)),
    }
}

/// A budget within the model's bounds; a level for models that have levels.
fn budget(tokens: u64, options: &WriteOptions, map: &mut Map) {
    if let Efforts::Levels(_) = options.capabilities.efforts
        && let EffortChoice::Level(word) = nearest_effort(
            crate::effort::budget_to_effort(tokens),
            options.capabilities.efforts,
        )
    {
        put(map, "thinkingLevel", Some(word));
        return;
    }
    let tokens = match options.capabilities.budgets {
        Some(Budgets { zero: true, .. }) if tokens == 0 => 0,
        Some(Budgets {
            min: least,
            max: most,
            ..
        }) => tokens.clamp(least, most),
        None => tokens,
    };
    put(map, "thinkingBudget", Some(tokens));
}

fn level(effort: &str, options: &WriteOptions, map: &mut Map, drops: &mut Drops) {
    match (
        options.capabilities.efforts,
        nearest_effort(effort, options.capabilities.efforts),
    ) {
        // The levels that every model has end at `high`.
        (Efforts::Unknown, EffortChoice::Level(word)) => {
            let word = match word.as_str() {
                "minimal" | "low" | "medium" => word,
                _ => "high".to_owned(),
            };
            put(map, "thinkingLevel", Some(word));
        }
        (_, EffortChoice::Level(word)) => put(map, "thinkingLevel", Some(word)),
        (_, EffortChoice::Default) => {}
        (_, EffortChoice::Refused) => drops.add(EFFORT, "the model does not support this effort"),
    }
}
