//! A conversation that goes on after a run: the model is sent what it saw before, to the
//! byte, so that its prompt cache holds.

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
use vendors::client::new_request;
use vendors::upstream_request::UpstreamRequest;
use vendors::vendor::Vendor;
use vendors::{GatewayResponse, TestGateway, run};

/// The smallest picture there is.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

fn edit(input: Value) -> (&'static str, Value) {
    ("text_editor_code_execution", input)
}

/// All that a run may tell: files, failures, folders, edits, pictures, mistakes.
fn turns(vendor: Vendor) -> Vec<MockResponse> {
    let path = "/mnt/data/a.txt";
    let create = json!({"command": "create", "path": path, "file_text": "one\n"});
    let replace = json!({"command": "str_replace", "path": path, "old_str": "one",
        "new_str": "two"});
    let calls = [
        vec![("load_skill", json!({"name": "report"}))],
        vec![
            bash("printf '1,2' > t.csv; echo said; echo so >&2; exit 3"),
            bash("true"),
        ],
        vec![edit(create)],
        vec![edit(replace)],
        vec![
            edit(json!({"command": "view", "path": path})),
            edit(json!({"command": "view", "path": "/mnt/data/none"})),
        ],
        vec![(
            "load_skill",
            json!({"name": "report", "path": "assets/dot.gif"}),
        )],
        vec![bash("sleep 60"), ("load_skill", json!({"name": "ghost"}))],
    ];
    let turns = calls.iter().map(|calls| vendor.calls(false, "Now.", calls));
    turns.chain([vendor.text_turn(false, "Done.")]).collect()
}

/// The conversation, an entry for each message or item.
fn conversation(vendor: Vendor, sent: &UpstreamRequest) -> Vec<String> {
    let key = match vendor {
        Vendor::Responses => "input",
        Vendor::Gemini => "contents",
        _ => "messages",
    };
    let all = sent.body[key].as_array().unwrap().iter();
    all.map(Value::to_string).collect()
}

/// The same with an answer and a word after it.
fn next_request(client: ClientDialect, request: &Value, response: &GatewayResponse) -> Value {
    let mut request = request.clone();
    let answer = response.json();
    let word = json!({"role": "user", "content": "Thanks."});
    match client {
        ClientDialect::Messages => {
            let reply = json!({"role": "assistant", "content": answer["content"]});
            request["messages"]
                .as_array_mut()
                .unwrap()
                .extend([reply, word]);
        }
        _ => {
            let input = request["input"].as_array_mut().unwrap();
            input.extend(answer["output"].as_array().unwrap().iter().cloned());
            input.push(word);
        }
    }
    request
}

async fn start_gateway() -> (TestGateway, String) {
    let config = "[skills]\nturns = 12\n[sandbox]\ntimeout_seconds = 1\n";
    let gateway = TestGateway::open(1, config).await;
    let report = SkillFixture::new("report")
        .body("Report well.\n")
        .file("assets/dot.gif", PIXEL);
    let skill = gateway.store(&report).await;
    (gateway, skill)
}

#[test]
fn what_the_model_saw_is_what_it_is_sent_again() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for client in [ClientDialect::Messages, ClientDialect::Responses] {
            for vendor in Vendor::ALL {
                let before = vendor.before(client);
                let request = new_request(client, &vendor.model(0), false, &[&skill]);
                let (response, sent) = gateway.talk(client, before, &request, turns(before)).await;
                assert_eq!((response.status, sent.len()), (200, 8), "{}", response.text);
                gateway.upstreams[0].clear_responses();
                let more = next_request(client, &request, &response);
                let end = [before.text_turn(false, "Bye.")];
                let (_, again) = gateway.talk(client, before, &more, end).await;
                gateway.upstreams[0].clear_responses();
                let (was, is) = (
                    conversation(before, &sent[7]),
                    conversation(before, &again[0]),
                );
                assert!(is.len() > was.len());
                for (was, is) in was.iter().zip(&is) {
                    assert_eq!(was, is, "{client:?} on {vendor:?}");
                }
                assert_eq!(sent[7].system, again[0].system);
                assert_eq!(sent[7].body["tools"], again[0].body["tools"]);
            }
        }
    });
}

#[test]
fn a_conversation_that_is_kept_here_goes_on_the_same_way() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let (client, vendor) = (ClientDialect::Responses, Vendor::Chat);
        let mut request = new_request(client, &vendor.model(0), false, &[&skill]);
        request["store"] = true.into();
        let (response, sent) = gateway.talk(client, vendor, &request, turns(vendor)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        gateway.upstreams[0].clear_responses();
        request["previous_response_id"] = response.json()["id"].clone();
        request["input"] = json!([{"role": "user", "content": "Thanks."}]);
        let end = [vendor.text_turn(false, "Bye.")];
        let (_, again) = gateway.talk(client, vendor, &request, end).await;
        let (was, is) = (
            conversation(vendor, &sent[7]),
            conversation(vendor, &again[0]),
        );
        assert_eq!(was, is[..was.len()]);
    });
}

#[test]
fn a_result_that_the_client_changed_stays_changed() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let (client, vendor) = (ClientDialect::Messages, Vendor::Anthropic);
        let request = new_request(client, &vendor.model(0), false, &[&skill]);
        let turns = [
            vendor.calls(false, "Now.", &[bash("echo long; printf x > made.txt")]),
            vendor.text_turn(false, "Done."),
        ];
        let (response, sent) = gateway.talk(client, vendor, &request, turns).await;
        assert!(sent[1].result(0).contains("/mnt/data/made.txt"));
        gateway.upstreams[0].clear_responses();
        let mut more = next_request(client, &request, &response);
        let blocks = more["messages"][1]["content"].as_array_mut().unwrap();
        let mut blocks = blocks.iter_mut();
        let result = blocks.find(|b| b["type"] == "bash_code_execution_tool_result");
        result.unwrap()["content"]["stdout"] = "cleared".into();
        let end = [vendor.text_turn(false, "Bye.")];
        let (_, again) = gateway.talk(client, vendor, &more, end).await;
        assert!(
            again[0].result(0).starts_with("cleared"),
            "{}",
            again[0].body
        );
    });
}
