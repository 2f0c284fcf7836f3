//! `GET /openapi.json`: the description of the API.
//!
//! The vendors' formats are given, so schemas are written by hand, not derived from types; the
//! paths and operations are those of the route table, which the router passes in.
//! It describes each dialect below its mount, where the path alone selects the dialect; the
//! same routes exist below `/v1`, where a header selects it.
//!
//! | module | owns |
//! |---|---|
//! | `operation`, `parameters` | the operations of a route, as the route table holds them |
//! | `describe` | an operation in OpenAPI's terms |
//! | `schemas` | the objects of each dialect |
//! | `admin` | the objects and bodies of `/v1/admin`, which no vendor has |
//! | `releases` | bodies about labels, notes, revocations and imports, which no vendor has |

mod admin;
mod describe;
pub(crate) mod operation;
pub(crate) mod parameters;
mod releases;
mod schemas;

use std::sync::LazyLock;

use axum::{Extension, Json};
use serde_json::{Map, Value, json};

use self::describe::DescribedRoute;
use self::operation::{Operation, OperationResponse};
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::route::table::row::{PathNames, RouteRow, on};

const API_DESCRIPTION: &str = "Models, skills and files in the vendors' dialects. Below \
    `/anthropic/v1` requests and responses have Anthropic's formats, below `/openai/v1` OpenAI's. \
    The same paths exist below `/v1`, where a request with an `anthropic-version` header uses \
    Anthropic's dialect and any other OpenAI's. Below `/gemini/v1beta` and `/v1beta`, models are \
    called as in Google's API. `/mcp` takes JSON-RPC, as in MCP's Streamable HTTP.";

pub(crate) static ROUTES: &[RouteRow] = &[RouteRow::plain(
    "/openapi.json",
    |method, setup| on(method, document).layer(Extension(ApiDocument(setup.document))),
    Operation::new("This document", OperationResponse::Json),
    PathNames::Nothing("the same for all tenants"),
)];

/// The document, which is built on first use.
#[derive(Clone)]
struct ApiDocument(&'static LazyLock<Value>);

async fn document(
    principal: Principal,
    Extension(ApiDocument(document)): Extension<ApiDocument>,
) -> Result<Json<&'static Value>, HttpError> {
    principal.require(Permission::Browse)?;
    Ok(Json(document))
}

/// Builds the document from the rows of the route table.
pub(crate) fn build(rows: impl Iterator<Item = &'static RouteRow>) -> Value {
    let mut paths = Map::new();
    for row in rows {
        for (mount, operation) in row.operations.iter() {
            let described = DescribedRoute {
                method: row.method.as_str(),
                path: format!("{}{}", mount.prefix(), row.documented_path()),
                mount: *mount,
                mounts: row.prefixes().collect(),
                operation,
            };
            // OpenAPI has no WebSockets, and a plain GET is refused there.
            let key = if row.is_websocket() {
                "x-websocket"
            } else {
                described.method
            };
            let path = paths
                .entry(described.path.clone())
                .or_insert_with(|| json!({}));
            if let Some(path) = path.as_object_mut() {
                path.insert(key.to_owned(), described.describe());
            }
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
            "schemas": schemas::all(admin::schemas()),
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
        let document = build(crate::route::table::rows());
        let mut found = Vec::new();
        names(&document, &mut found);
        assert!(!found.is_empty());
        for name in found {
            let pointer = name.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{name}");
        }
    }
}
