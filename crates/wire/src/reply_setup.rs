//! What the writer of a response takes over from its request.

use serde_json::Value;

use crate::Dialect;
use crate::adapt::named_toolsets;
use crate::context::{ReplyContext, freeform};
use crate::neutral::{Map, Request};
use crate::{gemini, responses};

impl ReplyContext {
    /// The context of a request's response: the client's model name, its stream options,
    /// and what its dialect repeats.
    pub fn for_request(request: &Request, created: u64) -> Self {
        ReplyContext {
            id: None,
            model: Some(request.model.clone()),
            created,
            completed: None,
            include_usage: include_usage(request),
            keep_response: false,
            skipped_items: Vec::new(),
            show_thoughts: gemini::shows_thoughts(request),
            json_array: false,
            freeform: freeform(request),
            client_tools: request.client_tools.clone(),
            toolsets: named_toolsets(request),
            function_calls: request.function_calls,
            echo: match request.origin {
                Dialect::Responses => responses::echoed_settings(request),
                _ => Map::new(),
            },
        }
    }
}

fn include_usage(request: &Request) -> bool {
    let options = request.rest.get("stream_options");
    options
        .and_then(|options| options.get("include_usage"))
        .and_then(Value::as_bool)
        .unwrap_or(false)
}
