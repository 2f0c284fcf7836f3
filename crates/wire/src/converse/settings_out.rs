//! Converse's settings, written.

use serde_json::{Value, json};

use crate::Dialect;
use crate::anthropic::{ReasoningSettings, accepted_schema, reasoning_settings, write_thinking};
use crate::blank_messages::is_blank;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::models::Family;
use crate::neutral::{Map, Request, ResponseFormat, ThinkingMode};
use crate::sampling::sampling_params;
use crate::stop_sequences::{DividedStops, divide_stops};

pub(super) fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    put(&mut config, "maxTokens", request.max_tokens);
    let mut extra = Map::new();
    let stops = stops(request).sent;
    if !stops.is_empty() {
        put(&mut config, "stopSequences", Some(stops));
    }
    let reasoning = reasoning(request, options, drops);
    put(&mut extra, "thinking", reasoning.thinking.clone());
    write_sampling(request, options, &reasoning, &mut config, &mut extra, drops);
    let output = write_output(request, reasoning.effort, drops)?;
    for (key, map) in [
        ("inferenceConfig", config),
        ("additionalModelRequestFields", extra),
        ("outputConfig", output),
    ] {
        if !map.is_empty() {
            body.insert(key.to_owned(), Value::Object(map));
        }
    }
    write_user(request, body, drops);
    for (key, there) in [
        ("cache_control", request.cache_control.is_some()),
        ("container", request.container.is_some()),
    ] {
        if there {
            drops.add(key, "not supported by Converse");
        }
    }
    Ok(())
}

/// Claude refuses stop sequences that are blank, such as a line break.
pub(super) fn stops(request: &Request) -> DividedStops {
    divide_stops(&request.stop_sequences, usize::MAX, |stop| !is_blank(stop))
}

/// The thinking settings. Models of other vendors than Anthropic may accept the same
/// values, and get them as the client sent them.
fn reasoning(request: &Request, options: &WriteOptions, drops: &mut Drops) -> ReasoningSettings {
    if options.capabilities.family == Family::Claude {
        let limit = request.max_tokens.unwrap_or(options.default_max_tokens);
        return reasoning_settings(request, options, limit, drops);
    }
    if options.capabilities.family == Family::Nova {
        return nova_reasoning(request, drops);
    }
    let thinking = request.thinking.as_ref();
    let is_refused = options.capabilities.no_claude_fields;
    if is_refused && thinking.is_some_and(|thinking| thinking.mode != ThinkingMode::Disabled) {
        drops.add("thinking", NO_SUCH_SETTING);
    }
    let effort = request.effort.as_deref().filter(|word| *word != "default");
    let effort = effort.and_then(crate::effort::anthropic_effort);
    if effort.is_some() && !options.effort_levels {
        drops.add(
            "output_config.effort",
            "the model does not support effort levels",
        );
    }
    ReasoningSettings {
        thinking: thinking.filter(|_| !is_refused).map(write_thinking),
        effort: effort.filter(|_| options.effort_levels).map(str::to_owned),
    }
}

/// Nova refuses requests with settings of other models.
fn nova_reasoning(request: &Request, drops: &mut Drops) -> ReasoningSettings {
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    if mode.is_some_and(|mode| *mode != ThinkingMode::Disabled) {
        drops.add("thinking", NO_SUCH_SETTING);
    }
    let effort = request.effort.as_deref();
    if effort.is_some_and(|word| !matches!(word, "none" | "default")) {
        drops.add("output_config.effort", NO_SUCH_SETTING);
    }
    ReasoningSettings::default()
}

const NO_SUCH_SETTING: &str = "the model does not support this setting";

fn write_sampling(
    request: &Request,
    options: &WriteOptions,
    reasoning: &ReasoningSettings,
    config: &mut Map,
    extra: &mut Map,
    drops: &mut Drops,
) {
    let mut sampled = sampling_params(request, options, drops);
    sampled.limit_temperature(drops);
    if reasoning.is_on() && options.capabilities.family == Family::Claude {
        sampled.drop_for_thinking(request, drops);
    }
    put(config, "temperature", sampled.temperature);
    put(config, "topP", sampled.top_p);
    let Some(top_k) = sampled.top_k else {
        return;
    };
    if options.capabilities.no_top_k {
        drops.add("top_k", NO_SUCH_SETTING);
        return;
    }
    // Each model has its own name for it.
    match options.capabilities.family {
        Family::Nova => put(extra, "inferenceConfig", Some(json!({"topK": top_k}))),
        _ => put(extra, "top_k", Some(top_k)),
    }
}

fn write_output(
    request: &Request,
    effort: Option<String>,
    drops: &mut Drops,
) -> Result<Map, WireError> {
    let mut output = Map::new();
    put(&mut output, "effort", effort);
    match &request.format {
        None => {}
        Some(ResponseFormat::JsonSchema {
            schema,
            name,
            description,
            ..
        }) => {
            // The schema is text here.
            let schema = accepted_schema(request, schema, drops).to_string();
            let mut inner = Map::from_iter([("schema".to_owned(), schema.into())]);
            put(&mut inner, "name", name.clone());
            put(&mut inner, "description", description.clone());
            let format = json!({"type": "json_schema", "structure": {"jsonSchema": inner}});
            put(&mut output, "textFormat", Some(format));
        }
        Some(ResponseFormat::JsonObject) => drops.add(
            "output_config.format",
            "Converse has no JSON mode without a schema; the model is instructed to write JSON",
        ),
        Some(ResponseFormat::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Converse,
                "output_config.format",
                "Converse does not support this output format: use a JSON schema",
            ));
        }
    }
    Ok(output)
}

/// Request metadata accepts a small character set only.
fn write_user(request: &Request, body: &mut Map, drops: &mut Drops) {
    let Some(user) = &request.user else {
        return;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || " :_@$#=/+,-.".contains(c);
    if user.len() <= 256 && user.chars().all(fits) {
        put(body, "requestMetadata", Some(json!({"user_id": user})));
    } else {
        drops.add(
            "metadata.user_id",
            "Converse metadata is limited to 256 ASCII characters",
        );
    }
}
