//! Converse's settings, written.

use serde_json::{Value, json};

use crate::Dialect;
use crate::anthropic::write_thinking;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::neutral::{Format, Map, Request};

pub(super) fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    put(&mut config, "maxTokens", request.max_tokens);
    let mut extra = Map::new();
    write_sampling(request, options, &mut config, &mut extra, drops);
    if !request.stop_sequences.is_empty() {
        let stops = request.stop_sequences.clone();
        put(&mut config, "stopSequences", Some(stops));
    }
    put(
        &mut extra,
        "thinking",
        request.thinking.as_ref().map(write_thinking),
    );
    let output = write_output(request, options, drops)?;
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
            drops.add(key, "Converse has no such field");
        }
    }
    Ok(())
}

fn write_sampling(
    request: &Request,
    options: &WriteOptions,
    config: &mut Map,
    extra: &mut Map,
    drops: &mut Drops,
) {
    let temperature = request.temperature.clone().map(Value::Number);
    let top_p = request.top_p.clone().map(Value::Number);
    let top_k = request.top_k.map(Value::from);
    if options.sampling {
        put(config, "temperature", temperature);
        put(config, "topP", top_p);
        put(extra, "top_k", top_k);
        return;
    }
    for (key, value) in [
        ("temperature", temperature),
        ("top_p", top_p),
        ("top_k", top_k),
    ] {
        if value.is_some() {
            drops.add(key, "the model takes no sampling parameters");
        }
    }
}

fn write_output(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Map, WireError> {
    let mut output = Map::new();
    match request.effort.as_deref() {
        Some(effort) if options.effort_levels => {
            put(&mut output, "effort", crate::effort::anthropic(effort));
        }
        Some(_) => drops.add("output_config.effort", "the model takes no effort level"),
        None => {}
    }
    match &request.format {
        None => {}
        Some(Format::JsonSchema {
            schema,
            name,
            description,
            ..
        }) => {
            // The schema is text here.
            let mut inner = Map::from_iter([("schema".to_owned(), schema.to_string().into())]);
            put(&mut inner, "name", name.clone());
            put(&mut inner, "description", description.clone());
            let format = json!({"type": "json_schema", "structure": {"jsonSchema": inner}});
            put(&mut output, "textFormat", Some(format));
        }
        Some(Format::JsonObject) => drops.add(
            "output_config.format",
            "Converse has no JSON mode without a schema",
        ),
        Some(Format::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Converse,
                "output_config.format",
                "Converse knows no such output format",
            ));
        }
    }
    Ok(output)
}

/// Request metadata takes a small alphabet only.
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
            "Converse's metadata takes 256 plain characters only",
        );
    }
}
