//! What servers that are compatible with OpenAI's refuse, and other vendors' clients send.

use prowess_wire::neutral::Tool;
use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, WriteOptions, read_request, read_response,
    write_request,
};
use serde_json::{Value, json};

use crate::{chat, dropped, sent, sent_to};

const MISTRAL: (&str, &str) = ("mistral-large-latest", "api.mistral.ai");
const DEEPSEEK: (&str, &str) = ("deepseek-v4-pro", "api.deepseek.com");
const CEREBRAS: (&str, &str) = ("gpt-oss-120b", "api.cerebras.ai");

/// A Messages request with these settings.
fn messages(settings: Value) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 4000,
        "messages": [{"role": "user", "content": "Hi"}]});
    for (key, value) in settings.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

/// What a server that is only compatible is sent.
fn sent_to_compatible(client: ClientDialect, body: &Value) -> EncodedRequest {
    let request = read_request(client, body.to_string().as_bytes()).unwrap();
    let options = WriteOptions {
        custom_tools: false,
        openai_fields: false,
        ..WriteOptions::default()
    };
    write_request(Dialect::Chat, &request, &options).unwrap()
}

/// A Responses request as Codex sends it.
fn codex() -> Value {
    json!({"model": "m", "stream": true, "store": false, "prompt_cache_key": "k",
        "text": {"verbosity": "low"},
        "tools": [
            {"type": "custom", "name": "apply_patch", "description": "Patches.",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}}],
        "input": [
            {"type": "message", "role": "user", "content": "Go."},
            {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done."}]})
}

#[test]
fn a_long_id_of_the_end_user_is_hashed() {
    let id = json!({"device_id": "d".repeat(64), "session_id": "s"}).to_string();
    let body = messages(json!({"metadata": {"user_id": id}}));
    let user = |upstream| {
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        assert_eq!(dropped(&outgoing), [""; 0]);
        outgoing.body["user"].as_str().unwrap().to_owned()
    };
    let hashed = user(Dialect::Chat);
    assert!(
        hashed.len() <= 64 && hashed.starts_with("user_"),
        "{hashed}"
    );
    assert_eq!(user(Dialect::Responses), hashed, "the same each time");
    let short = messages(json!({"metadata": {"user_id": "ann"}}));
    let outgoing = sent(ClientDialect::Messages, &short, Dialect::Chat);
    assert_eq!(outgoing.body["user"], "ann");
}

#[test]
fn more_stop_sequences_than_a_server_accepts_still_end_the_answer() {
    let stops = ["A", "B", "C", "D", "E", "F"];
    let body = messages(json!({"stop_sequences": stops}));
    let outgoing = sent(ClientDialect::Messages, &body, Dialect::Chat);
    assert_eq!(outgoing.body["stop"], json!(stops[..4]));
    let answer = json!({"id": "c1", "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "one F two"}, "finish_reason": "stop"}]});
    let answer = answer.to_string();
    let read = read_response(Dialect::Chat, answer.as_bytes(), &outgoing.context).unwrap();
    assert_eq!(read.content[0].as_text(), Some("one "));
    assert_eq!(read.stop_sequence.as_deref(), Some("F"));
    let outgoing = sent(ClientDialect::Messages, &body, Dialect::Gemini);
    let sent = &outgoing.body["generationConfig"]["stopSequences"];
    assert_eq!(sent, &json!(stops[..5]));
}

#[test]
fn a_function_is_strict_for_openai_only_if_openai_takes_its_schema() {
    let tool = |properties: Value| {
        messages(
            json!({"tools": [{"name": "look", "strict": true, "input_schema":
            {"type": "object", "properties": properties, "required": ["a"],
                "additionalProperties": false}}]}),
        )
    };
    for (upstream, place) in [
        (Dialect::Chat, "/tools/0/function/strict"),
        (Dialect::Responses, "/tools/0/strict"),
    ] {
        let body = tool(json!({"a": {"type": "string"}}));
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        assert_eq!(outgoing.body.pointer(place), Some(&json!(true)));
        let body = tool(json!({"a": {"type": "string"}, "b": {"type": "string"}}));
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        assert_eq!(outgoing.body.pointer(place), Some(&json!(false)));
        assert_eq!(dropped(&outgoing), ["tools[0].strict"]);
    }
}

#[test]
fn only_the_tools_that_are_allowed_are_offered_to_a_chat_model() {
    let tool = |name: &str| json!({"name": name});
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [tool("a"), tool("b"), tool("c")]}],
        "toolConfig": {"functionCallingConfig":
            {"mode": "ANY", "allowedFunctionNames": ["a", "c"]}}});
    let outgoing = sent(ClientDialect::Gemini, &body, Dialect::Chat);
    assert_eq!(outgoing.body["tool_choice"], "required");
    let tools = outgoing.body["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["a", "c"]);
}

#[test]
fn codex_gets_functions_and_no_fields_of_openai_on_a_compatible_server() {
    let outgoing = sent_to_compatible(ClientDialect::Responses, &codex());
    let body = &outgoing.body;
    for key in ["store", "prompt_cache_key", "verbosity"] {
        assert_eq!(body.get(key), None, "{key}");
    }
    assert_eq!(dropped(&outgoing), ["text.verbosity", "prompt_cache_key"]);
    let function = &body["tools"][0]["function"];
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(function["name"], "apply_patch");
    assert_eq!(function["parameters"]["required"], json!(["input"]));
    let call = &body["messages"][1]["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert_eq!(call["function"]["arguments"], r#"{"input":"*** Begin"}"#);
    let openai = sent(ClientDialect::Responses, &codex(), Dialect::Chat).body;
    assert_eq!(openai["tools"][0]["type"], "custom");
    assert_eq!(openai["prompt_cache_key"], "k");
    let router = ("openai/gpt-5", "openrouter.ai");
    let options = WriteOptions {
        openai_fields: false,
        ..WriteOptions::default()
    };
    assert!(options.for_model(router.0, Some(router.1)).openai_fields);
}

#[test]
fn a_chat_server_gets_no_field_that_openai_refuses_without_another() {
    let mut body = json!({"model": "m", "input": "Hi", "metadata": {"a": "b"}, "top_logprobs": 2,
        "service_tier": "flex"});
    for store in [json!(null), json!(false)] {
        body["store"] = store;
        let outgoing = sent(ClientDialect::Responses, &body, Dialect::Chat);
        assert_eq!(outgoing.body.get("metadata"), None);
        assert_eq!(outgoing.body.get("top_logprobs"), None);
        assert_eq!(outgoing.body["service_tier"], "flex");
        assert_eq!(dropped(&outgoing), ["metadata", "top_logprobs"]);
    }
    body["store"] = true.into();
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Chat);
    assert_eq!(outgoing.body["metadata"], json!({"a": "b"}));
    assert_eq!(outgoing.body["store"], true);
    assert_eq!(dropped(&outgoing), ["top_logprobs"]);
    let own = sent(ClientDialect::Responses, &body, Dialect::Responses);
    assert_eq!(own.body["top_logprobs"], 2);
}

#[test]
fn mistral_gets_no_field_that_it_does_not_know() {
    let body = messages(json!({"metadata": {"user_id": "ann"}, "stream": true}));
    let outgoing = sent_to(ClientDialect::Messages, &body, Dialect::Chat, MISTRAL);
    let mut keys: Vec<_> = outgoing.body.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["max_tokens", "messages", "model", "stream"]);
    assert_eq!(dropped(&outgoing), ["metadata.user_id"]);
    let outgoing = sent_to(ClientDialect::Responses, &codex(), Dialect::Chat, MISTRAL);
    assert_eq!(outgoing.body["prompt_cache_key"], "k");
    assert_eq!(outgoing.body.get("store"), None);
    let seed = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {"seed": 7}});
    let outgoing = sent_to(ClientDialect::Gemini, &seed, Dialect::Chat, MISTRAL);
    assert_eq!(outgoing.body["random_seed"], 7);
    // The same model on another server.
    let elsewhere = (MISTRAL.0, "localhost");
    let outgoing = sent_to(ClientDialect::Messages, &body, Dialect::Chat, elsewhere);
    assert_eq!(outgoing.body["user"], "ann");
    assert_eq!(outgoing.body["stream_options"]["include_usage"], true);
}

#[test]
fn mistral_goes_on_with_a_last_message_of_the_model() {
    let body = chat(json!([
        {"role": "user", "content": "Tell a story."},
        {"role": "assistant", "content": "Once upon a time"},
    ]));
    let outgoing = sent_to(ClientDialect::Chat, &body, Dialect::Chat, MISTRAL);
    assert_eq!(outgoing.body["messages"][1]["prefix"], true);
    let outgoing = sent(ClientDialect::Chat, &body, Dialect::Chat);
    assert_eq!(outgoing.body["messages"][1].get("prefix"), None);
}

#[test]
fn deepseek_is_instructed_to_follow_a_schema_that_it_does_not_take() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let body = messages(json!({"system": "Be kind.",
        "output_config": {"format": {"type": "json_schema", "schema": schema}}}));
    let outgoing = sent_to(ClientDialect::Messages, &body, Dialect::Chat, DEEPSEEK);
    assert_eq!(
        outgoing.body["response_format"],
        json!({"type": "json_object"})
    );
    let text = outgoing.body["messages"][1]["content"].as_str().unwrap();
    assert!(text.ends_with(&schema.to_string()), "{text}");
    assert_eq!(outgoing.body["messages"][1]["role"], "system");
    assert_eq!(outgoing.body["messages"][2]["content"], "Hi");
    assert_eq!(dropped(&outgoing), ["output_config.format"]);
}

#[test]
fn deepseek_does_not_think_where_a_tool_is_forced() {
    let body = |choice: Value| {
        messages(
            json!({"tools": [{"name": "look", "input_schema": {"type": "object"}}],
            "thinking": {"type": "enabled", "budget_tokens": 2000}, "tool_choice": choice}),
        )
    };
    let forced = body(json!({"type": "any"}));
    let outgoing = sent_to(ClientDialect::Messages, &forced, Dialect::Chat, DEEPSEEK);
    assert_eq!(outgoing.body["tool_choice"], "required");
    assert_eq!(outgoing.body["thinking"], json!({"type": "disabled"}));
    assert_eq!(dropped(&outgoing), ["thinking"]);
    let free = body(json!({"type": "auto"}));
    let outgoing = sent_to(ClientDialect::Messages, &free, Dialect::Chat, DEEPSEEK);
    assert_eq!(outgoing.body.get("thinking"), None);
}

#[test]
fn groq_gets_an_effort_for_models_that_reason_only() {
    let body = messages(json!({"thinking": {"type": "enabled", "budget_tokens": 4000}}));
    let to = |model: &str, host: &str| {
        let outgoing = sent_to(ClientDialect::Messages, &body, Dialect::Chat, (model, host));
        let effort = outgoing.body.get("reasoning_effort").cloned();
        let named = dropped(&outgoing) == ["thinking"];
        (effort, named)
    };
    let llama = "llama-3.3-70b-versatile";
    assert_eq!(to(llama, "api.groq.com"), (None, true));
    let medium = Some(json!("medium"));
    assert_eq!(to(llama, "localhost"), (medium.clone(), false));
    let oss = to("openai/gpt-oss-120b", "api.groq.com");
    assert_eq!(oss, (medium, false));
}

#[test]
fn the_user_and_the_model_take_turns_at_perplexity() {
    const PERPLEXITY: (&str, &str) = ("sonar", "api.perplexity.ai");
    let image = json!({"type": "image", "source": {"type": "base64",
        "media_type": "image/png", "data": "QQ=="}});
    let body = json!({"model": "m", "max_tokens": 9, "system": "Be kind.", "messages": [
        {"role": "user", "content": "One."},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [image]},
        {"role": "user", "content": "Three."},
    ]});
    let outgoing = sent_to(ClientDialect::Messages, &body, Dialect::Chat, PERPLEXITY);
    let sent = outgoing.body["messages"].as_array().unwrap();
    let roles = sent.iter().map(|message| message["role"].as_str().unwrap());
    let roles: Vec<&str> = roles.collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(sent[1]["content"], "One.\n\nTwo.");
    assert_eq!(sent[3]["content"][0]["type"], "image_url");
    let text = json!({"type": "text", "text": "Three."});
    assert_eq!(sent[3]["content"][1], text);

    let instructed = chat(json!([
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "Yes."},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Two."},
    ]));
    let own = sent_to(ClientDialect::Chat, &instructed, Dialect::Chat, PERPLEXITY);
    assert_eq!(own.body["messages"], instructed["messages"]);
}

#[test]
fn fields_that_a_server_refuses_are_left_out_and_named() {
    let sent = |client, body: &Value| {
        let request = read_request(client, body.to_string().as_bytes()).unwrap();
        let options = WriteOptions {
            refused_fields: &["parallel_tool_calls", "reasoning_effort", "stream_options"],
            ..WriteOptions::default()
        };
        write_request(Dialect::Chat, &request, &options).unwrap()
    };
    let tools = json!([{"type": "function", "name": "look", "parameters": {}, "strict": false}]);
    let mut body = json!({"model": "m", "input": "Hi", "stream": true, "tools": tools,
        "parallel_tool_calls": false, "reasoning": {"effort": "low"}});
    let outgoing = sent(ClientDialect::Responses, &body);
    for key in ["parallel_tool_calls", "reasoning_effort", "stream_options"] {
        assert_eq!(outgoing.body.get(key), None);
    }
    let mut named = dropped(&outgoing);
    named.sort_unstable();
    assert_eq!(named, ["parallel_tool_calls", "reasoning.effort"]);
    // That is the default.
    body["parallel_tool_calls"] = true.into();
    assert_eq!(
        dropped(&sent(ClientDialect::Responses, &body)),
        ["reasoning.effort"]
    );
    let mut own = chat(json!([{"role": "user", "content": "Hi"}]));
    own["stream"] = true.into();
    own["reasoning_effort"] = "low".into();
    let outgoing = sent(ClientDialect::Chat, &own);
    assert_eq!(outgoing.body["reasoning_effort"], "low");
    assert_eq!(outgoing.body.get("stream_options"), None);
}

/// Codex sends `false` to models that it does not know.
#[test]
fn cerebras_is_sent_no_setting_of_parallel_calls() {
    let tools = json!([{"type": "function", "name": "look", "parameters": {}, "strict": false}]);
    for (value, named) in [(false, vec!["parallel_tool_calls"]), (true, vec![])] {
        let body =
            json!({"model": "m", "input": "Hi", "tools": tools, "parallel_tool_calls": value});
        let outgoing = sent_to(ClientDialect::Responses, &body, Dialect::Chat, CEREBRAS);
        assert_eq!(outgoing.body.get("parallel_tool_calls"), None, "{value}");
        assert_eq!(dropped(&outgoing), named, "{value}");
    }
}

#[test]
fn cerebras_is_sent_strict_functions_only_if_all_are() {
    let function = |name: &str, strict: Value| {
        let schema = json!({"type": "object", "properties": {}, "required": [],
            "additionalProperties": false});
        json!({"type": "function", "name": name, "parameters": schema, "strict": strict})
    };
    let strict = |body: &Value| -> Vec<Value> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["function"]["strict"].clone())
            .collect()
    };
    for (tools, expected, named) in [
        (
            json!([function("a", json!(true)), function("b", json!(true))]),
            vec![json!(true); 2],
            vec![],
        ),
        (
            json!([function("a", json!(true)), function("b", json!(false))]),
            vec![Value::Null; 2],
            vec!["tools[0].strict"],
        ),
        (
            json!([function("a", json!(null)), function("b", json!(true))]),
            vec![Value::Null; 2],
            vec!["tools[1].strict"],
        ),
        (
            json!([function("a", json!(null)), function("b", json!(false))]),
            vec![Value::Null, json!(false)],
            vec![],
        ),
    ] {
        let body = json!({"model": "m", "input": "Hi", "tools": tools});
        let outgoing = sent_to(ClientDialect::Responses, &body, Dialect::Chat, CEREBRAS);
        assert_eq!(strict(&outgoing.body), expected, "{body}");
        assert_eq!(dropped(&outgoing), named, "{body}");
    }
    // What a run adds to the tools of its client.
    let tools = json!([{"type": "function", "function": {"name": "a", "strict": true,
        "parameters": {"type": "object", "properties": {}}}}]);
    let mut body = chat(json!([{"role": "user", "content": "Hi"}]));
    body["tools"] = tools;
    let mut request = read_request(ClientDialect::Chat, body.to_string().as_bytes()).unwrap();
    request
        .tools
        .push(Tool::function("load", "Loads.", json!({"type": "object"})));
    let options = WriteOptions::default().for_model(CEREBRAS.0, Some(CEREBRAS.1));
    let outgoing = write_request(Dialect::Chat, &request, &options).unwrap();
    assert_eq!(strict(&outgoing.body), [Value::Null, Value::Null]);
    assert_eq!(dropped(&outgoing), ["tools[0].function.strict"]);
}
