//! What a vendor's own servers give in the middle of a run, and what only its dialect
//! says, reaches the client; and tools of both sides that are called in one turn are all
//! answered.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use vendors::client::{new_request, path};
use vendors::vendor::Vendor;
use vendors::{GatewayResponse, TestGateway, run};

async fn start_gateway() -> (TestGateway, String) {
    let gateway = TestGateway::open(1, "").await;
    let report = SkillFixture::new("report").body("Report well.\n");
    let skill = gateway.store(&report).await;
    (gateway, skill)
}

/// An answer of OpenAI's made of these items, whole or streamed.
fn responses_answer(items: &[Value], stream: bool) -> MockResponse {
    let body = json!({"id": "resp_up", "object": "response", "created_at": 1, "model": "m1",
        "status": "completed", "error": null, "incomplete_details": null, "output": items,
        "usage": {"input_tokens": 30, "output_tokens": 10, "total_tokens": 40}});
    if !stream {
        return MockResponse::json(200, &body.to_string());
    }
    let mut events =
        vec![json!({"type": "response.created", "response": {"id": "resp_up", "model": "m1"}})];
    for (at, item) in items.iter().enumerate() {
        let event =
            |kind: &str, item: &Value| json!({"type": kind, "output_index": at, "item": item});
        let mut started = item.clone();
        started["status"] = "in_progress".into();
        if item["type"] == "message" {
            started["content"] = json!([]);
        }
        events.push(event("response.output_item.added", &started));
        if let Some(text) = item["content"][0]["text"].as_str() {
            events.push(
                json!({"type": "response.output_text.delta", "output_index": at,
                "content_index": 0, "item_id": item["id"], "delta": text, "logprobs": []}),
            );
        }
        if item["type"] == "image_generation_call" {
            events.push(
                json!({"type": "response.image_generation_call.partial_image",
                "output_index": at, "item_id": item["id"], "partial_image_b64": "aWY=",
                "partial_image_index": 0}),
            );
        }
        events.push(event("response.output_item.done", item));
    }
    events.push(json!({"type": "response.completed", "response": body}));
    let text: String = events
        .iter()
        .map(|event| {
            format!(
                "event: {}\ndata: {event}\n\n",
                event["type"].as_str().unwrap()
            )
        })
        .collect();
    MockResponse::sse(&text).in_chunks(97)
}

fn message(id: &str, phase: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "phase": phase,
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

/// The turn that loads a skill, and the turn that draws and asks for an approval.
fn turns() -> (Vec<Value>, Vec<Value>) {
    let first = vec![
        json!({"id": "rs_1", "type": "reasoning", "summary": []}),
        json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "cats"}}),
        message("msg_a", "commentary", "Let me see."),
        json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
            "name": "load_skill", "arguments": "{\"name\":\"report\"}"}),
    ];
    let last = vec![
        json!({"id": "ig_1", "type": "image_generation_call", "status": "completed",
            "result": "iVBORw0KGgo=", "output_format": "png"}),
        json!({"id": "mcpr_1", "type": "mcp_approval_request", "server_label": "s", "name": "roll",
            "arguments": "{}"}),
        message("msg_b", "final_answer", "Here it is."),
    ];
    (first, last)
}

/// The output of an answer, streamed or not. Items of a stream are told once each, in
/// order.
fn output(response: &GatewayResponse, stream: bool) -> Vec<Value> {
    if !stream {
        return response.json()["output"].as_array().unwrap().clone();
    }
    let data = response
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at, "{event}");
    }
    let done = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done");
    for (at, event) in done.clone().enumerate() {
        assert_eq!(event["output_index"], at, "{event}");
    }
    let added = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.added");
    assert_eq!(added.count(), done.clone().count());
    let partial = "response.image_generation_call.partial_image";
    let mut partial = events.iter().filter(|event| event["type"] == partial);
    let partial = partial.next().unwrap();
    let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let at = usize::try_from(partial["output_index"].as_u64().unwrap()).unwrap();
    assert_eq!(done[at]["type"], "image_generation_call");
    assert_eq!(json!(done), events.last().unwrap()["response"]["output"]);
    done
}

#[test]
fn what_openais_servers_gave_in_a_run_reaches_the_client_and_the_next_turn() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for stream in [false, true] {
            let (first, last) = turns();
            let vendor = Vendor::Responses;
            let mut request = new_request(
                ClientDialect::Responses,
                &vendor.model(0),
                stream,
                &[&skill],
            );
            request["store"] = true.into();
            let hosted = [
                json!({"type": "image_generation"}),
                json!({"type": "mcp", "server_label": "s", "server_url": "https://s.test"}),
            ];
            request["tools"].as_array_mut().unwrap().extend(hosted);
            let answers = [
                responses_answer(&first, stream),
                responses_answer(&last, stream),
            ];
            let (response, sent) = gateway
                .talk(ClientDialect::Responses, vendor, &request, answers)
                .await;
            assert_eq!((response.status, sent.len()), (200, 2), "{}", response.text);
            gateway.upstreams[0].clear_responses();
            // OpenAI would require its optional arguments otherwise.
            let mut tools = sent[0].body["tools"].as_array().unwrap().iter();
            let load = tools.find(|tool| tool["name"] == "load_skill").unwrap();
            assert_eq!(load["strict"], false, "{load}");

            let output = output(&response, stream);
            let kinds: Vec<&str> = output
                .iter()
                .map(|item| item["type"].as_str().unwrap())
                .collect();
            assert_eq!(
                kinds,
                [
                    "reasoning",
                    "web_search_call",
                    "message",
                    "shell_call",
                    "shell_call_output",
                    "image_generation_call",
                    "mcp_approval_request",
                    "message"
                ]
            );
            assert_eq!([&output[1], &output[2]], [&first[1], &first[2]]);
            assert_eq!(output[5..], last[..]);
            assert_eq!(output[0]["id"], "rs_1");

            // The next turn gets what came, in order, before our result.
            let input = sent[1].body["input"].as_array().unwrap();
            let came: Vec<&Value> = input.iter().skip(1).take(4).collect();
            assert_eq!(
                (&came[0]["type"], &came[0]["id"]),
                (&json!("reasoning"), &json!("rs_1"))
            );
            assert_eq!(came[1], &first[1]);
            assert_eq!(
                (&came[2]["id"], &came[2]["phase"]),
                (&json!("msg_a"), &json!("commentary"))
            );
            assert_eq!(came[3]["name"], "load_skill");
            assert!(
                input[5]["output"]
                    .as_str()
                    .unwrap()
                    .contains("Report well."),
                "{input:?}"
            );

            // The client answers the question, as it would answer OpenAI itself.
            let mut more = request.clone();
            let input = more["input"].as_array_mut().unwrap();
            input.extend(output);
            let approval = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1",
                "approve": true});
            input.push(approval.clone());
            let end = [responses_answer(
                &[message("msg_c", "final_answer", "Four.")],
                stream,
            )];
            let (response, again) = gateway
                .talk(ClientDialect::Responses, vendor, &more, end)
                .await;
            assert_eq!(response.status, 200, "{}", response.text);
            gateway.upstreams[0].clear_responses();
            let input = again[0].body["input"].as_array().unwrap();
            assert_eq!(input.last(), Some(&approval));
            let find = |kind: &str| input.iter().filter(|item| item["type"] == kind).count();
            for kind in [
                "web_search_call",
                "image_generation_call",
                "mcp_approval_request",
                "reasoning",
            ] {
                assert_eq!(find(kind), 1, "{kind}: {input:?}");
            }
            let phases: Vec<&Value> = input.iter().filter_map(|item| item.get("phase")).collect();
            assert_eq!(phases, ["commentary", "final_answer"]);
        }
    });
}

#[test]
fn what_a_chat_server_adds_beside_its_text_reaches_a_chat_client() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let turn = |message: Value, reason: &str, cost: f64| {
            let choice = json!({"index": 0, "message": message, "finish_reason": reason,
                "content_filter_results": {"hate": {"filtered": false}}});
            let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m1",
                "system_fingerprint": "fp_1", "service_tier": "priority", "choices": [choice],
                "prompt_filter_results": [{"prompt_index": 0}],
                "usage": {"prompt_tokens": 30, "completion_tokens": 10, "cost": cost}});
            MockResponse::json(200, &body.to_string())
        };
        let call = json!([{"id": "call_1", "type": "function",
            "function": {"name": "load_skill", "arguments": "{\"name\":\"report\"}"}}]);
        let vendor = Vendor::Chat;
        let request = new_request(ClientDialect::Chat, &vendor.model(0), false, &[&skill]);
        let turns = [
            turn(
                json!({"role": "assistant", "content": null, "tool_calls": call}),
                "tool_calls",
                0.25,
            ),
            turn(
                json!({"role": "assistant", "content": "Done.", "annotations": [{"type": "url_citation"}]}),
                "stop",
                0.5,
            ),
        ];
        let (response, sent) = gateway
            .talk(ClientDialect::Chat, vendor, &request, turns)
            .await;
        assert_eq!((response.status, sent.len()), (200, 2), "{}", response.text);
        let body = response.json();
        assert_eq!(body["usage"]["cost"], 0.75, "{body}");
        assert_eq!(body["usage"]["prompt_tokens"], 60);
        assert_eq!(body["system_fingerprint"], "fp_1");
        assert_eq!(body["service_tier"], "priority");
        assert_eq!(body["prompt_filter_results"], json!([{"prompt_index": 0}]));
        let choice = &body["choices"][0];
        assert_eq!(choice["content_filter_results"]["hate"]["filtered"], false);
        assert_eq!(
            choice["message"]["annotations"],
            json!([{"type": "url_citation"}])
        );
    });
}

/// An answer of a Chat server, whole or in chunks.
fn chat_answer(message: &Value, reason: &str, stream: bool) -> MockResponse {
    let usage = json!({"prompt_tokens": 30, "completion_tokens": 10});
    let body = |choice: Value| json!({"id": "c", "created": 1, "model": "m1", "choices": [choice]});
    if !stream {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let mut whole = body(choice);
        whole["usage"] = usage;
        return MockResponse::json(200, &whole.to_string());
    }
    let text = body(json!({"index": 0, "delta": message}));
    let mut end = body(json!({"index": 0, "delta": {}, "finish_reason": reason}));
    end["usage"] = usage;
    MockResponse::sse(&format!("data: {text}\n\ndata: {end}\n\ndata: [DONE]\n\n")).in_chunks(97)
}

/// The text of a Chat answer, streamed or not, and its one citation.
fn cited_text(response: &GatewayResponse, stream: bool) -> (String, Value) {
    assert_eq!(response.status, 200, "{}", response.text);
    let messages = if stream {
        let data = response.text.lines();
        let data = data.filter_map(|line| line.strip_prefix("data: {"));
        let chunks = data.map(|data| serde_json::from_str::<Value>(&format!("{{{data}")).unwrap());
        chunks
            .map(|chunk| chunk["choices"][0]["delta"].clone())
            .collect()
    } else {
        vec![response.json()["choices"][0]["message"].clone()]
    };
    let text = messages.iter().filter_map(|m| m["content"].as_str());
    let mut citations = messages.iter().filter_map(|m| m["annotations"].as_array());
    let citations = citations.next().unwrap();
    assert_eq!(citations.len(), 1, "{}", response.text);
    (text.collect(), citations[0]["url_citation"].clone())
}

/// A Chat client gets the texts of all turns as one.
#[test]
fn citations_of_a_later_turn_are_at_their_place_in_the_whole_text() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let there = json!({"start_index": 8, "end_index": 12, "title": "T",
            "url": "https://a.test"});
        let mut in_turn = there.clone();
        in_turn["start_index"] = 0.into();
        in_turn["end_index"] = 4.into();
        for stream in [false, true] {
            let call = json!([{"index": 0, "id": "call_1", "type": "function",
                "function": {"name": "load_skill", "arguments": "{\"name\":\"report\"}"}}]);
            let first = json!({"role": "assistant", "content": "Grüße.", "tool_calls": call});
            let cited = json!([{"type": "url_citation", "url_citation": in_turn}]);
            let last = json!({"role": "assistant", "content": "Done.", "annotations": cited});
            let by_chat = [
                chat_answer(&first, "tool_calls", stream),
                chat_answer(&last, "stop", stream),
            ];
            let mut items = turns().0;
            items[2] = message("msg_a", "commentary", "Grüße.");
            let mut last = message("msg_b", "final_answer", "Done.");
            let mut flat = in_turn.clone();
            flat["type"] = "url_citation".into();
            last["content"][0]["annotations"] = json!([flat]);
            let by_responses = [
                responses_answer(&items, stream),
                responses_answer(&[last], stream),
            ];
            for (model, turns) in [
                (Vendor::Chat.model(0), by_chat),
                // OpenAI has this model in Responses only.
                ("openai-responses-0/gpt-5-pro".to_owned(), by_responses),
            ] {
                let request = new_request(ClientDialect::Chat, &model, stream, &[&skill]);
                for turn in turns {
                    gateway.upstreams[0].respond(turn);
                }
                let response = gateway.post(path(ClientDialect::Chat), &request).await;
                assert_eq!(gateway.upstreams[0].requests().await.len(), 2);
                let expected = ("Grüße.\n\nDone.".to_owned(), there.clone());
                assert_eq!(cited_text(&response, stream), expected, "{model} {stream}");
            }
        }
    });
}

/// What a Chat model was sent of a turn's calls and their results: names, then texts.
fn turn_of(sent: &Value) -> (Vec<String>, Vec<String>) {
    let messages = sent["messages"].as_array().unwrap();
    let at = messages
        .iter()
        .rposition(|message| message["tool_calls"].is_array())
        .unwrap();
    let calls = messages[at]["tool_calls"].as_array().unwrap();
    let names = calls
        .iter()
        .map(|call| call["function"]["name"].as_str().unwrap().to_owned());
    let results = messages[at + 1..]
        .iter()
        .take_while(|message| message["role"] == "tool");
    let results: Vec<&Value> = results.collect();
    let ids: Vec<&Value> = calls.iter().map(|call| &call["id"]).collect();
    let answered: Vec<&Value> = results
        .iter()
        .map(|result| &result["tool_call_id"])
        .collect();
    assert_eq!(answered, ids, "{sent}");
    let texts = results
        .iter()
        .map(|result| result["content"].as_str().unwrap().trim().to_owned());
    (names.collect(), texts.collect())
}

#[test]
fn tools_of_both_sides_in_one_turn_are_all_answered_in_order() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let vendor = Vendor::Chat;
        let both = [
            ("bash_code_execution", json!({"command": "echo hello"})),
            ("weather", json!({"city": "Bern"})),
        ];
        for client in [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
        ] {
            for both in [both.clone(), [both[1].clone(), both[0].clone()]] {
                let mut request = new_request(client, &vendor.model(0), false, &[&skill]);
                let turns = [vendor.calls(false, "Now.", &both)];
                let (response, _) = gateway.talk(client, vendor, &request, turns).await;
                assert_eq!(response.status, 200, "{}", response.text);
                gateway.upstreams[0].clear_responses();
                let answer = vendors::client::parse_answer(client, false, &response).unwrap();
                vendors::client::append_tool_result(
                    client,
                    &mut request,
                    &response,
                    &answer,
                    "rain",
                );
                let (response, sent) = gateway
                    .talk(client, vendor, &request, [vendor.text_turn(false, "Bye.")])
                    .await;
                assert_eq!(response.status, 200, "{}", response.text);
                gateway.upstreams[0].clear_responses();
                let (names, texts) = turn_of(&sent[0].body);
                let expected: Vec<&str> = both.iter().map(|(name, _)| *name).collect();
                assert_eq!(names, expected, "{client:?}");
                let result_of = |name: &str| if name == "weather" { "rain" } else { "hello" };
                let expected: Vec<&str> = expected.into_iter().map(result_of).collect();
                assert_eq!(texts, expected, "{client:?}");
            }
        }
    });
}

#[test]
fn a_call_that_anthropics_server_left_to_be_run_is_run_here() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let vendor = Vendor::Chat;
        let mut request = new_request(ClientDialect::Messages, &vendor.model(0), false, &[&skill]);
        let reply = json!([
            {"type": "text", "text": "Both."},
            {"type": "server_tool_use", "id": "srvtoolu_01", "name": "bash_code_execution",
                "input": {"command": "echo hello"}},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Bern"}},
        ]);
        let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]);
        let messages = request["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": reply}));
        messages.push(json!({"role": "user", "content": result}));
        let (response, sent) = gateway
            .talk(
                ClientDialect::Messages,
                vendor,
                &request,
                [vendor.text_turn(false, "So.")],
            )
            .await;
        assert_eq!(response.status, 200, "{}", response.text);
        gateway.upstreams[0].clear_responses();
        let (names, texts) = turn_of(&sent[0].body);
        assert_eq!(names, ["bash_code_execution", "weather"]);
        assert_eq!(texts, ["hello", "rain"]);
        // As Anthropic does, the answer begins with the result.
        let content = response.json()["content"].clone();
        assert_eq!(
            content[0]["type"], "bash_code_execution_tool_result",
            "{content}"
        );
        assert_eq!(content[0]["tool_use_id"], "srvtoolu_01");
        assert_eq!(content[0]["content"]["stdout"], "hello\n");
        assert_eq!(content[1]["text"], "So.");

        // And the conversation goes on from there.
        let messages = request["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": content}));
        messages.push(json!({"role": "user", "content": "Thanks."}));
        let (response, sent) = gateway
            .talk(
                ClientDialect::Messages,
                vendor,
                &request,
                [vendor.text_turn(false, "Bye.")],
            )
            .await;
        assert_eq!(response.status, 200, "{}", response.text);
        let text = sent[0].body["messages"].to_string();
        assert!(text.contains("hello") && text.contains("rain"), "{text}");
    });
}
