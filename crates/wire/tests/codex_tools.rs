//! Codex on other vendors' models: namespaces, tools that come as items, tool search.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::collections::HashSet;

use prowess_wire::{ClientDialect, Dialect};
use serde_json::{Value, json};
use support::exchange::{call, call_stream, event, offered, others, sent, streamed, whole};
use support::file;

fn fixture(name: &str) -> Value {
    serde_json::from_slice(&file(&format!("requests/responses/{name}.json"))).unwrap()
}

/// A request whose tools are these, without a choice among them.
fn request_with_tools(tools: Value) -> Value {
    json!({"model": "small", "input": "Go", "tools": tools})
}

fn function(name: &str) -> Value {
    json!({"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}})
}

fn namespace(name: &str, tools: Value) -> Value {
    json!({"type": "namespace", "name": name, "description": "d", "tools": tools})
}

#[test]
fn tools_of_namespaces_are_functions_elsewhere_and_calls_carry_the_namespace_again() {
    let tools = json!([
        function("exec"),
        namespace(
            "mcp__skills",
            json!([function("load_skill"), function("exec")])
        ),
        namespace("mcp__wiki__", json!([function("a.b/c")])),
        namespace(&"n".repeat(70), json!([function("load_skill")])),
    ]);
    let called = [
        (None, "exec"),
        (Some("mcp__skills"), "load_skill"),
        (Some("mcp__skills"), "exec"),
        (Some("mcp__wiki__"), "a.b/c"),
        (Some(&*"n".repeat(70)), "load_skill"),
    ];
    let request = request_with_tools(tools);
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &request, upstream);
        assert_eq!(outgoing.dropped, [], "{upstream:?}");
        let names = offered(upstream, &outgoing.body);
        assert_eq!(
            &names[..3],
            ["exec", "mcp__skills__load_skill", "mcp__skills__exec"]
        );
        let fits = |name: &String| {
            name.len() <= 64
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        assert!(names.iter().all(fits), "{names:?}");
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), called.len());
        for (name, (namespace, expected)) in names.iter().zip(called) {
            let answer = call(upstream, name, &json!({"x": 1}));
            let body = whole(ClientDialect::Responses, &request, upstream, &answer);
            let item = &body["output"][0];
            assert_eq!(item["type"], "function_call");
            assert_eq!(item["name"], expected, "{upstream:?}");
            assert_eq!(item["namespace"].as_str(), namespace, "{upstream:?}");
            assert_eq!(item["arguments"], "{\"x\":1}");
        }
    }
}

#[test]
fn a_streamed_call_carries_its_namespace_in_every_event() {
    let request = request_with_tools(json!([namespace(
        "mcp__skills",
        json!([function("load_skill")])
    )]));
    for upstream in [Dialect::Messages, Dialect::Chat, Dialect::Gemini] {
        let input = json!({"name": "pdf-forms"});
        let stream = call_stream(upstream, "mcp__skills__load_skill", &input);
        let events = streamed(ClientDialect::Responses, &request, upstream, &stream);
        let deltas = events.iter().filter_map(|event| {
            let is_delta = event["type"] == "response.function_call_arguments.delta";
            event["delta"].as_str().filter(|_| is_delta)
        });
        assert_eq!(deltas.collect::<String>(), input.to_string());
        let last = event(&events, "response.completed");
        for item in [
            &event(&events, "response.output_item.added")["item"],
            &event(&events, "response.output_item.done")["item"],
            &last["response"]["output"][0],
        ] {
            assert_eq!(item["name"], "load_skill", "{upstream:?}");
            assert_eq!(item["namespace"], "mcp__skills", "{upstream:?}");
        }
        assert_eq!(last["response"]["tools"], request["tools"]);
    }
}

#[test]
fn a_free_form_tool_of_a_namespace_is_called_with_text() {
    let custom = json!({"type": "custom", "name": "patch", "description": "Patches."});
    let request = request_with_tools(json!([namespace("mcp__edit", json!([custom]))]));
    let input = json!({"input": "+x"});
    for upstream in [Dialect::Messages, Dialect::Gemini] {
        let answer = call(upstream, "mcp__edit__patch", &input);
        let body = whole(ClientDialect::Responses, &request, upstream, &answer);
        let stream = call_stream(upstream, "mcp__edit__patch", &input);
        let events = streamed(ClientDialect::Responses, &request, upstream, &stream);
        let done = &event(&events, "response.output_item.done")["item"];
        for item in [&body["output"][0], done] {
            assert_eq!(item["type"], "custom_tool_call");
            assert_eq!(
                (&item["name"], &item["namespace"]),
                (&json!("patch"), &json!("mcp__edit"))
            );
            assert_eq!(item["input"], "+x");
        }
    }
}

#[test]
fn a_member_whose_plain_name_is_taken_gets_another() {
    let request = request_with_tools(json!([
        namespace("a", json!([function("b__c")])),
        namespace("a__b", json!([function("c")])),
        function("a__b__c"),
    ]));
    let outgoing = sent(ClientDialect::Responses, &request, Dialect::Chat);
    let names = offered(Dialect::Chat, &outgoing.body);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3, "{names:?}");
    assert_eq!(names[2], "a__b__c");
    let expected = [
        ("b__c", json!("a")),
        ("c", json!("a__b")),
        ("a__b__c", json!(null)),
    ];
    for (sent, (name, namespace)) in names.iter().zip(expected) {
        let answer = call(Dialect::Chat, sent, &json!({}));
        let body = whole(ClientDialect::Responses, &request, Dialect::Chat, &answer);
        let item = &body["output"][0];
        assert_eq!(
            (&item["name"], &item["namespace"]),
            (&json!(name), &namespace)
        );
    }
    let again = sent(ClientDialect::Responses, &request, Dialect::Chat);
    assert_eq!(
        again.body, outgoing.body,
        "the same request gives the same bytes"
    );
}

#[test]
fn a_forced_or_allowed_member_is_chosen_by_its_plain_name() {
    let mut request = request_with_tools(json!([
        function("exec"),
        namespace(
            "mcp__skills",
            json!([function("load_skill"), function("read")])
        ),
    ]));
    request["tool_choice"] =
        json!({"type": "function", "name": "read", "namespace": "mcp__skills"});
    let body = sent(ClientDialect::Responses, &request, Dialect::Messages).body;
    assert_eq!(
        body["tool_choice"],
        json!({"type": "tool", "name": "mcp__skills__read"})
    );
    request["tool_choice"] = json!({"type": "allowed_tools", "mode": "required",
        "tools": [{"type": "namespace", "name": "mcp__skills"}]});
    let body = sent(ClientDialect::Responses, &request, Dialect::Messages).body;
    let names = offered(Dialect::Messages, &body);
    assert_eq!(names, ["mcp__skills__load_skill", "mcp__skills__read"]);
}

#[test]
fn a_responses_upstream_gets_namespaces_and_items_as_they_came() {
    for name in [
        "codex_namespaces",
        "codex_additional_tools",
        "codex_tool_search",
        "local_tools",
    ] {
        let request = fixture(name);
        let outgoing = sent(ClientDialect::Responses, &request, Dialect::Responses);
        assert_eq!(outgoing.dropped, [], "{name}");
        assert_eq!(outgoing.body.get("tools"), request.get("tools"), "{name}");
        let kinds = |body: &Value| -> Vec<(Value, Value, Value)> {
            let items = body["input"].as_array().unwrap().iter();
            let items =
                items.filter(|item| item["role"] != "developer" || item["type"] != "message");
            items
                .map(|item| {
                    (
                        item["type"].clone(),
                        item["name"].clone(),
                        item["namespace"].clone(),
                    )
                })
                .map(|(kind, name, namespace)| match kind {
                    Value::Null => (json!("message"), name, namespace),
                    kind => (kind, name, namespace),
                })
                .collect()
        };
        assert_eq!(kinds(&outgoing.body), kinds(&request), "{name}");
    }
    let request = fixture("codex_namespaces");
    let mut answer = call(Dialect::Responses, "load_skill", &json!({}));
    answer["output"][0]["namespace"] = json!("mcp__skills");
    let body = whole(
        ClientDialect::Responses,
        &request,
        Dialect::Responses,
        &answer,
    );
    let item = &body["output"][0];
    assert_eq!(
        (&item["name"], &item["namespace"]),
        (&json!("load_skill"), &json!("mcp__skills"))
    );
    let call = &answer["output"][0];
    let stream: String = [
        json!({"type": "response.created", "response": {"id": "resp_u", "model": "m"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
        json!({"type": "response.completed", "response": answer}),
    ]
    .iter()
    .map(|event| format!("data: {event}\n\n"))
    .collect();
    let events = streamed(
        ClientDialect::Responses,
        &request,
        Dialect::Responses,
        &stream,
    );
    let item = &event(&events, "response.output_item.done")["item"];
    assert_eq!(
        (&item["name"], &item["namespace"]),
        (&json!("load_skill"), &json!("mcp__skills"))
    );
}

#[test]
fn tools_that_come_as_an_item_are_offered_and_instructions_after_it_come_first() {
    let request = fixture("codex_additional_tools");
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &request, upstream);
        let names = offered(upstream, &outgoing.body);
        assert_eq!(
            names,
            ["exec", "apply_patch", "mcp__skills__exec"],
            "{upstream:?}"
        );
        assert!(!outgoing.body.to_string().contains("additional_tools"));
        let answer = call(upstream, "exec", &json!({"cmd": "pwd"}));
        let body = whole(ClientDialect::Responses, &request, upstream, &answer);
        let item = &body["output"][0];
        assert_eq!(
            (&item["name"], &item["namespace"]),
            (&json!("exec"), &json!("functions"))
        );
    }
    let body = sent(ClientDialect::Responses, &request, Dialect::Messages).body;
    assert_eq!(body["system"], "You are a coding agent.");
    assert_eq!(body["messages"][1]["content"][0]["name"], "exec");
}

#[test]
fn a_search_of_the_clients_is_a_function_and_what_it_found_is_offered() {
    let request = fixture("codex_tool_search");
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &request, upstream);
        let names = offered(upstream, &outgoing.body);
        let expected = [
            "tool_search",
            "exec",
            "mcp__calendar__create_event",
            "read_mail",
        ];
        assert_eq!(names, expected, "{upstream:?}");
        let text = outgoing.body.to_string();
        assert!(
            text.contains("These tools are now available: mcp__calendar__create_event, read_mail."),
            "{text}"
        );
        let answer = call(upstream, "tool_search", &json!({"query": "mail"}));
        let item = &whole(ClientDialect::Responses, &request, upstream, &answer)["output"][0];
        assert_eq!(item["type"], "tool_search_call");
        assert_eq!(
            (&item["execution"], &item["call_id"]),
            (&json!("client"), &json!("call_u"))
        );
        assert_eq!(item["arguments"], json!({"query": "mail"}));
    }
    let mut before = request.clone();
    before["input"] = json!("Put it in my calendar");
    let names = |request: &Value| {
        let body = sent(ClientDialect::Responses, request, Dialect::Chat).body;
        offered(Dialect::Chat, &body)
    };
    assert_eq!(
        names(&before),
        ["tool_search", "exec"],
        "deferred tools wait"
    );
    assert!(
        names(&request).starts_with(&names(&before)),
        "found tools stand behind all others"
    );
}

#[test]
fn what_is_found_or_added_later_stands_behind_what_was_known() {
    let mut request = fixture("codex_tool_search");
    let names = |request: &Value| {
        let body = sent(ClientDialect::Responses, request, Dialect::Chat).body;
        offered(Dialect::Chat, &body)
    };
    let before = names(&request);
    let more = [
        json!({"type": "function_call", "call_id": "call_9", "name": "read_mail", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "call_9", "output": "none"}),
        json!({"type": "additional_tools", "role": "developer", "tools": [function("added")]}),
        json!({"type": "tool_search_call", "call_id": "s_2", "execution": "client", "arguments": {}}),
        json!({"type": "tool_search_output", "call_id": "s_2", "execution": "client",
            "tools": [function("send_mail"), function("found")]}),
    ];
    request["input"].as_array_mut().unwrap().extend(more);
    let after = names(&request);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(&after[before.len()..], ["added", "send_mail", "found"]);
}

#[test]
fn without_the_vendors_own_search_all_deferred_tools_are_offered() {
    let mut deferred = function("create_event");
    deferred["defer_loading"] = json!(true);
    let mut group = namespace("crm", json!([function("find")]));
    group["defer_loading"] = json!(true);
    let request =
        request_with_tools(json!([function("exec"), deferred, group, {"type": "tool_search"}]));
    for upstream in others(ClientDialect::Responses) {
        let outgoing = sent(ClientDialect::Responses, &request, upstream);
        let names = offered(upstream, &outgoing.body);
        assert_eq!(names, ["exec", "create_event", "crm__find"], "{upstream:?}");
        let dropped: Vec<_> = outgoing.dropped.iter().map(|d| d.field.as_str()).collect();
        assert_eq!(dropped, ["tools[3]"]);
    }
}

#[test]
fn a_namespace_without_a_name_or_tools_is_an_error_that_names_the_field() {
    for (tool, field) in [
        (json!({"type": "namespace", "tools": []}), "tools[0].name"),
        (json!({"type": "namespace", "name": "n"}), "tools[0].tools"),
        (
            json!({"type": "namespace", "name": "n", "tools": [{"type": "function"}]}),
            "tools[0].tools[0].name",
        ),
    ] {
        let body = request_with_tools(json!([tool])).to_string();
        let error =
            prowess_wire::read_request(ClientDialect::Responses, body.as_bytes()).unwrap_err();
        assert_eq!(error.field(), Some(field));
    }
}
