//! Gemini's `generationConfig`, read.

use serde_json::Value;

use super::fields_in::{fields, items};
use super::schema_in::json_schema;
use crate::Dialect;
use crate::error::WireError;
use crate::fields::{JsonFields, string, wrong_value};
use crate::json_path::JsonPath;
use crate::neutral::{Map, Request, ResponseFormat, Thinking, ThinkingMode};

/// The field by which a client requests thoughts, and the objects around it.
pub(crate) const INCLUDE_THOUGHTS: &str = "includeThoughts";
const SETTINGS: &str = "generationConfig";
const THINKING: &str = "thinkingConfig";

/// Whether a client is shown thoughts: only on request.
pub(crate) fn shows_thoughts(request: &Request) -> bool {
    let config = request.rest.get(SETTINGS).and_then(|it| it.get(THINKING));
    let shown = config.and_then(|config| config.get(INCLUDE_THOUGHTS)?.as_bool());
    request.origin == Dialect::Gemini && shown.unwrap_or(false)
}

/// Reads the settings; returns what no other dialect has.
pub(super) fn read_settings(
    value: Value,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<Map, WireError> {
    let mut config = fields(value, path)?;
    one_candidate(&mut config)?;
    request.max_tokens = config.opt_u64("maxOutputTokens")?;
    request.temperature = config.opt_number("temperature")?;
    request.top_p = config.opt_number("topP")?;
    request.top_k = config.opt_u64("topK")?;
    if let Some(stops) = config.take("stopSequences") {
        let path = path.key("stopSequences");
        let stops = items(stops).into_iter().enumerate();
        let stops = stops.map(|(i, stop)| string(stop, &path.index(i)));
        request.stop_sequences = stops.collect::<Result<_, _>>()?;
    }
    let mut unread = Map::new();
    if let Some(thinking) = config.take(THINKING) {
        unread = read_thinking(thinking, &path.key(THINKING), request)?;
    }
    request.format = read_format(&mut config)?;
    if config.peek("responseModalities").is_some_and(is_text) {
        // The default of every model.
        config.take("responseModalities");
    }
    let mut rest = config.rest();
    if !unread.is_empty() {
        rest.insert(THINKING.to_owned(), unread.into());
    }
    Ok(rest)
}

fn one_candidate(config: &mut JsonFields<'_>) -> Result<(), WireError> {
    let path = config.path();
    match config.opt_u64("candidateCount")? {
        None | Some(0 | 1) => Ok(()),
        Some(_) => Err(WireError::unsupported(
            Dialect::Gemini,
            path.key("candidateCount"),
            "only one candidate is supported: omit candidateCount or set it to 1",
        )),
    }
}

fn is_text(modalities: &Value) -> bool {
    let text = |kind: &Value| {
        let kind = kind.as_str().unwrap_or_default();
        kind.eq_ignore_ascii_case("TEXT")
    };
    modalities
        .as_array()
        .is_some_and(|kinds| kinds.iter().all(text))
}

/// A budget of -1 means adaptive, 0 disables thinking.
fn read_thinking(
    value: Value,
    path: &JsonPath<'_>,
    request: &mut Request,
) -> Result<Map, WireError> {
    let mut config = fields(value, path)?;
    let shown = config.opt_bool(INCLUDE_THOUGHTS)?;
    let level = config.opt_string("thinkingLevel")?;
    let level = level.map(|level| level.to_ascii_lowercase());
    request.effort = level.filter(|level| level != "thinking_level_unspecified");
    let budget = config.take("thinkingBudget");
    let mode = match budget.as_ref().map(|budget| (budget, budget.as_f64())) {
        None if shown == Some(true) => Some(ThinkingMode::Adaptive),
        None => None,
        Some((_, Some(budget))) if budget < 0.0 => Some(ThinkingMode::Adaptive),
        Some((_, Some(0.0))) => Some(ThinkingMode::Disabled),
        Some((budget, Some(_))) => Some(ThinkingMode::Enabled {
            budget_tokens: budget.as_u64().or_else(|| whole(budget)).unwrap_or(1),
        }),
        Some((other, None)) => {
            return Err(wrong_value(
                &path.key("thinkingBudget"),
                "a whole number",
                other,
            ));
        }
    };
    let mut rest = config.rest();
    if let Some(shown) = shown {
        rest.insert(INCLUDE_THOUGHTS.to_owned(), shown.into());
    }
    request.thinking = mode.map(|mode| Thinking {
        mode,
        rest: Map::new(),
    });
    Ok(rest)
}

fn whole(budget: &Value) -> Option<u64> {
    let budget = budget.as_f64()?;
    (budget.fract() == 0.0 && budget < 9_007_199_254_740_992.0).then_some(budget as u64)
}

/// Either kind of schema; a schema alone implies JSON.
fn read_format(config: &mut JsonFields<'_>) -> Result<Option<ResponseFormat>, WireError> {
    let kind = config.opt_string("responseMimeType")?;
    let own = config.take("responseSchema").map(json_schema);
    let schema = config
        .take("responseJsonSchema")
        .or_else(|| config.take("_responseJsonSchema"))
        .or(own);
    Ok(match (kind.as_deref(), schema) {
        (None | Some("text/plain" | ""), None) => None,
        (Some("application/json"), None) => Some(ResponseFormat::JsonObject),
        (None | Some("application/json"), Some(schema)) => Some(ResponseFormat::JsonSchema {
            schema,
            name: None,
            description: None,
            strict: None,
        }),
        (kind, schema) => {
            let mut map = Map::new();
            let kind = kind.map(Value::from);
            map.extend(kind.map(|kind| ("responseMimeType".to_owned(), kind)));
            map.extend(schema.map(|schema| ("responseJsonSchema".to_owned(), schema)));
            Some(ResponseFormat::Other(map))
        }
    })
}
