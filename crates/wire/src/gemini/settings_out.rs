//! Gemini's `generationConfig`, written.

use serde_json::{Value, json};

use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::{Path, put};
use crate::neutral::{Format, Map, Request, ThinkingMode};

pub(super) fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    put(&mut config, "maxOutputTokens", request.max_tokens);
    let temperature = request.temperature.clone().map(Value::Number);
    put(&mut config, "temperature", temperature);
    put(
        &mut config,
        "topP",
        request.top_p.clone().map(Value::Number),
    );
    put(&mut config, "topK", request.top_k);
    if !request.stop_sequences.is_empty() {
        let stops = request.stop_sequences.clone();
        put(&mut config, "stopSequences", Some(stops));
    }
    put(
        &mut config,
        "thinkingConfig",
        thinking(request, options, drops),
    );
    write_format(request, &mut config)?;
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    for (key, there) in [
        ("metadata.user_id", request.user.is_some()),
        ("cache_control", request.cache_control.is_some()),
        ("container", request.container.is_some()),
    ] {
        if there {
            drops.add(key, "Gemini has no such field");
        }
    }
    Ok(())
}

/// A budget or a level, never both: Gemini refuses that.
fn thinking(request: &Request, options: &WriteOptions, drops: &mut Drops) -> Option<Value> {
    let mut map = Map::new();
    let own = request.origin == Dialect::Gemini;
    let mode = request.thinking.as_ref().map(|thinking| {
        drops.rest(&Path::Root.key("thinking"), &thinking.rest);
        &thinking.mode
    });
    // A client of Gemini's says itself whether it is to be shown thoughts.
    if let (false, Some(ThinkingMode::Enabled { .. } | ThinkingMode::Adaptive)) = (own, mode) {
        map.insert("includeThoughts".to_owned(), true.into());
    }
    match (mode, request.effort.as_deref()) {
        (Some(ThinkingMode::Disabled), _) | (_, Some("none")) => {
            put(&mut map, "thinkingBudget", Some(0));
        }
        (Some(ThinkingMode::Enabled { budget_tokens }), effort) => {
            put(&mut map, "thinkingBudget", Some(*budget_tokens));
            if effort.is_some() {
                let why = "Gemini takes a thinking budget or a level, not both";
                drops.add("output_config.effort", why);
            }
        }
        (_, Some(effort)) if options.effort_levels => {
            put(&mut map, "thinkingLevel", Some(level(effort)));
        }
        (_, Some(effort)) => put(&mut map, "thinkingBudget", crate::effort::budget(effort)),
        (_, None) => {}
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

/// Gemini's levels end at `high`.
fn level(effort: &str) -> &str {
    match effort {
        "minimal" | "low" | "medium" => effort,
        _ => "high",
    }
}

fn write_format(request: &Request, config: &mut Map) -> Result<(), WireError> {
    match &request.format {
        None => {}
        Some(Format::JsonObject) => put(config, "responseMimeType", Some("application/json")),
        Some(Format::JsonSchema { schema, .. }) => {
            put(config, "responseMimeType", Some("application/json"));
            put(config, "responseJsonSchema", Some(json!(schema)));
        }
        Some(Format::Other(map)) if request.origin == Dialect::Gemini => {
            config.extend(map.clone());
        }
        Some(Format::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                "output_config.format",
                "Gemini knows no such output format",
            ));
        }
    }
    Ok(())
}
