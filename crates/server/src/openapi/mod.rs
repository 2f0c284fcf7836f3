//! `GET /openapi.json`: the description of the API.
//!
//! The vendors' formats are given, so the document is written by hand, not derived from types.
//! It describes each dialect below its mount, where the path alone selects the dialect; the
//! same routes exist below `/v1`, where a header selects it.
//!
//! | module | owns |
//! |---|---|
//! | `table` | every operation, one line each |
//! | `operations`, `parameters` | an operation and its parameters in OpenAPI terms |
//! | `schemas` | the objects of each dialect |

mod operations;
mod parameters;
mod schemas;
mod table;

use std::sync::LazyLock;

use axum::Json;
use serde_json::{Map, Value, json};

use crate::auth::{Permission, Principal};
use crate::error::HttpError;

const API_DESCRIPTION: &str = "Models, skills and files in the vendors' dialects. Below \
    `/anthropic/v1` requests and responses have Anthropic's formats, below `/openai/v1` OpenAI's. \
    The same paths exist below `/v1`, where a request with an `anthropic-version` header uses \
    Anthropic's dialect and any other OpenAI's. Below `/gemini/v1beta` and `/v1beta`, models are \
    called as in Google's API. `/mcp` takes JSON-RPC, as in MCP's Streamable HTTP.";

pub(crate) async fn document(principal: Principal) -> Result<Json<&'static Value>, HttpError> {
    principal.require(Permission::Browse)?;
    static DOCUMENT: LazyLock<Value> = LazyLock::new(build);
    Ok(Json(&DOCUMENT))
}

fn build() -> Value {
    let mut paths = Map::new();
    for operation in table::all() {
        let path = paths
            .entry(operation.path.clone())
            .or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(operation.method.to_owned(), operation.describe());
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Prowess",
            "version": env!("CARGO_PKG_VERSION"),
            "description": API_DESCRIPTION,
        },
        "security": [{ "apiKey": [] }, { "googleKey": [] }, { "bearer": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": { "type": "apiKey", "in": "header", "name": "x-api-key" },
                "googleKey": { "type": "apiKey", "in": "header", "name": "x-goog-api-key" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
            "schemas": schemas::all(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_is_named_is_there() {
        fn names(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    for (key, value) in map {
                        match value.as_str() {
                            Some(name) if key == "$ref" => found.push(name.to_owned()),
                            _ => names(value, found),
                        }
                    }
                }
                Value::Array(list) => list.iter().for_each(|value| names(value, found)),
                _ => {}
            }
        }
        let document = build();
        let mut found = Vec::new();
        names(&document, &mut found);
        assert!(!found.is_empty());
        for name in found {
            let pointer = name.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{name}");
        }
    }
}
