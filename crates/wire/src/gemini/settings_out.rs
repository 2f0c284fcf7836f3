//! Gemini's `generationConfig`, written.

use serde_json::{Value, json};

use super::thinking_out::thinking;
use crate::Dialect;
use crate::context::WriteOptions;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::neutral::{Map, Request, ResponseFormat};
use crate::sampling::sampling_params;
use crate::stop_sequences::{DividedStops, divide_stops};

pub(super) fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let mut config = Map::new();
    put(&mut config, "maxOutputTokens", request.max_tokens);
    let sampled = sampling_params(request, options, drops);
    put(&mut config, "temperature", sampled.temperature);
    put(&mut config, "topP", sampled.top_p);
    put(&mut config, "topK", sampled.top_k);
    write_shared(request, options, &mut config, drops);
    let stops = stops(request).sent;
    if !stops.is_empty() {
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
            drops.add(key, "not supported by Gemini");
        }
    }
    Ok(())
}

/// The most stop sequences that Gemini accepts.
const MAX_STOPS: usize = 5;

/// The stop sequences that Gemini is sent. Its own clients get its error for too many.
pub(super) fn stops(request: &Request) -> DividedStops {
    let most = match request.origin {
        Dialect::Gemini => usize::MAX,
        _ => MAX_STOPS,
    };
    divide_stops(&request.stop_sequences, most, |_| true)
}

/// The fields of Chat that Gemini has under other names, and its names.
const SHARED: [(&str, &str); 3] = [
    ("seed", "seed"),
    ("frequency_penalty", "frequencyPenalty"),
    ("presence_penalty", "presencePenalty"),
];

/// Settings that only Gemini and Chat have; those that the model does not support are
/// reported.
fn write_shared(request: &Request, options: &WriteOptions, config: &mut Map, drops: &mut Drops) {
    if request.origin != Dialect::Chat {
        return;
    }
    for (key, name) in SHARED {
        let Some(value) = request.rest.get(key).filter(|value| value.is_number()) else {
            continue;
        };
        let why = match key {
            "seed"
                if value
                    .as_i64()
                    .is_none_or(|seed| i32::try_from(seed).is_err()) =>
            {
                Some("Gemini accepts 32-bit seeds only")
            }
            "seed" => None,
            _ if options.capabilities.no_penalties && value.as_f64() != Some(0.0) => {
                Some("the model does not support penalties")
            }
            _ => None,
        };
        match why {
            Some(why) => drops.add(key, why),
            None => put(config, name, Some(value.clone())),
        }
    }
}

/// What of a request's unknown fields Gemini does not have either.
pub(super) fn unknown_fields(request: &Request) -> Map {
    let mut rest = request.rest.clone();
    if request.origin == Dialect::Chat {
        for (key, _) in SHARED {
            if rest.get(key).is_some_and(Value::is_number) {
                rest.shift_remove(key);
            }
        }
    }
    rest
}

fn write_format(request: &Request, config: &mut Map) -> Result<(), WireError> {
    match &request.format {
        None => {}
        Some(ResponseFormat::JsonObject) => {
            put(config, "responseMimeType", Some("application/json"))
        }
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            put(config, "responseMimeType", Some("application/json"));
            put(config, "responseJsonSchema", Some(json!(schema)));
        }
        Some(ResponseFormat::Other(map)) if request.origin == Dialect::Gemini => {
            config.extend(map.clone());
        }
        Some(ResponseFormat::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Gemini,
                "output_config.format",
                "Gemini does not support this output format: use a JSON schema",
            ));
        }
    }
    Ok(())
}
