//! Skills for clients of Gemini's API, on models of five vendors: told as code execution,
//! and brought back in the next request as the model knows it.

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
use server::{MASTER, TestServer, is_left_out};
use vendors::client::{append_tool_result, contents, model_path, new_request, parse_answer};
use vendors::upstream_request::UpstreamRequest;
use vendors::vendor::Vendor;
use vendors::{GatewayResponse, TestGateway, run};

const COMMAND: &str = "echo -n well > /mnt/data/report.txt; echo made";

async fn start_gateway() -> (TestGateway, String) {
    let gateway = TestGateway::open(1, "").await;
    let skill = gateway.store(&SkillFixture::new("report")).await;
    (gateway, skill)
}

fn bash() -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": COMMAND}))
}

/// Has a model take turns; gives what the client was told and what the model was sent.
async fn converse(
    gateway: &TestGateway,
    vendor: Vendor,
    stream: bool,
    body: &Value,
    turns: &[(&str, Vec<(&str, Value)>)],
) -> (GatewayResponse, Vec<UpstreamRequest>) {
    for (text, calls) in turns {
        let calls: Vec<_> = calls.clone();
        gateway.upstreams[0].respond(
            vendor
                .before(ClientDialect::Gemini)
                .calls(stream, text, &calls),
        );
    }
    let response = gateway
        .post(&model_path(&vendor.model(0), stream), body)
        .await;
    assert_eq!(response.status, 200, "{}", response.text);
    let requests = gateway.upstreams[0].requests().await;
    let vendor = vendor.before(ClientDialect::Gemini);
    let sent = requests
        .iter()
        .map(|request| UpstreamRequest::read(vendor, request));
    (response, sent.collect())
}

fn parts(response: &GatewayResponse) -> Vec<Value> {
    let contents = contents(response);
    let parts = contents
        .iter()
        .flat_map(|content| content["parts"].as_array().unwrap());
    parts.cloned().collect()
}

fn conversation(vendor: Vendor, sent: &UpstreamRequest) -> Vec<String> {
    let key = match vendor.before(ClientDialect::Gemini) {
        Vendor::Responses => "input",
        Vendor::Gemini => "contents",
        _ => "messages",
    };
    let all = sent.body[key].as_array().unwrap().iter();
    all.map(Value::to_string).collect()
}

#[test]
fn a_run_is_shown_as_code_execution_with_its_files() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for vendor in Vendor::ALL {
            for stream in [false, true] {
                let request =
                    new_request(ClientDialect::Gemini, &vendor.model(0), stream, &[&skill]);
                let turns = [("I make it.", vec![bash()]), ("Done.", vec![])];
                let (response, sent) = converse(&gateway, vendor, stream, &request, &turns).await;
                assert_eq!(sent.len(), 2, "{vendor:?} {stream}");
                let parts = parts(&response);
                let code = parts.iter().find_map(|part| part.get("executableCode"));
                assert_eq!(code.unwrap()["code"], COMMAND, "{parts:?}");
                let result = parts
                    .iter()
                    .find_map(|part| part.get("codeExecutionResult"));
                let result = result.unwrap();
                assert_eq!(result["outcome"], "OUTCOME_OK");
                assert_eq!(result["output"], "made\n");
                assert_eq!(result["id"], code.unwrap()["id"]);
                let file = parts
                    .iter()
                    .find(|part| part.get("fileData").is_some())
                    .unwrap();
                assert_eq!(file["fileData"]["displayName"], "report.txt");
                let container = file["partMetadata"]["container"].as_str().unwrap();
                assert!(
                    response
                        .text
                        .contains(&format!("\"container\":{{\"id\":\"{container}\""))
                );
                let uri = file["fileData"]["fileUri"].as_str().unwrap();
                let download = gateway
                    .get(&format!("/v1beta/{uri}:download?alt=media"))
                    .await;
                assert_eq!(download.text, "well", "{uri}");
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                assert_eq!(texts.collect::<String>(), "I make it.\n\nDone.");
            }
        }
    });
}

#[test]
fn a_conversation_that_comes_back_is_the_one_the_model_knows() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for vendor in Vendor::ALL {
            for stream in [false, true] {
                let mut request =
                    new_request(ClientDialect::Gemini, &vendor.model(0), stream, &[&skill]);
                let load = ("load_skill", json!({"name": "report"}));
                let turns = [
                    ("I look.", vec![load]),
                    ("I make it.", vec![bash()]),
                    ("Done.", vec![]),
                ];
                let (response, sent) = converse(&gateway, vendor, stream, &request, &turns).await;
                let known = conversation(vendor, &sent[2]);
                let all = request["contents"].as_array_mut().unwrap();
                all.extend(contents(&response));
                all.push(json!({"role": "user", "parts": [{"text": "Thanks."}]}));
                let turns = [("Gladly.", vec![])];
                let (_, sent) = converse(&gateway, vendor, stream, &request, &turns).await;
                let again = conversation(vendor, &sent[0]);
                assert_eq!(again[..known.len()], known, "{vendor:?} {stream}");
                assert!(again[known.len()].contains("Done."), "{again:?}");
            }
        }
    });
}

#[test]
fn a_clients_own_tool_is_answered_after_ours_even_by_one_that_keeps_only_calls() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for vendor in Vendor::ALL {
            for (stream, only_calls) in [(false, false), (true, false), (true, true)] {
                let mut request =
                    new_request(ClientDialect::Gemini, &vendor.model(0), stream, &[&skill]);
                let own = ("weather", json!({"city": "Bern"}));
                let turns = [
                    ("I make it.", vec![bash()]),
                    ("And the weather?", vec![own]),
                ];
                let (response, sent) = converse(&gateway, vendor, stream, &request, &turns).await;
                let known = conversation(vendor, &sent[1]);
                let answer = parse_answer(ClientDialect::Gemini, stream, &response).unwrap();
                append_tool_result(
                    ClientDialect::Gemini,
                    &mut request,
                    &response,
                    &answer,
                    "rain",
                );
                if only_calls {
                    for content in request["contents"].as_array_mut().unwrap() {
                        let parts = content["parts"].as_array_mut().unwrap();
                        let kept = |part: &Value| {
                            part.get("executableCode").is_none()
                                && part.get("codeExecutionResult").is_none()
                                && part.get("fileData").is_none()
                        };
                        parts.retain(kept);
                    }
                }
                let turns = [("It rains.", vec![])];
                let (_, sent) = converse(&gateway, vendor, stream, &request, &turns).await;
                let again = conversation(vendor, &sent[0]);
                assert_eq!(again[..known.len()], known, "{vendor:?} {stream}");
                let last = again[known.len()..].concat();
                assert!(last.contains("weather") && last.contains("rain"), "{last}");
            }
        }
    });
}

#[test]
fn tokens_of_a_run_are_counted_with_its_skills() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let request = new_request(
            ClientDialect::Gemini,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let path = format!("/v1beta/models/{}:countTokens", Vendor::Chat.model(0));
        let with = gateway.post(&path, &request).await.json();
        let mut without = request.clone();
        without.as_object_mut().unwrap().remove("container");
        let without = gateway.post(&path, &without).await.json();
        let tokens = |response: &Value| response["totalTokens"].as_u64().unwrap();
        assert!(tokens(&with) > tokens(&without), "{with} {without}");
    });
}

#[test]
fn a_key_in_the_url_is_in_no_log_and_names_of_models_are_in_no_route() {
    if is_left_out("a_key_in_the_url_is_in_no_log_and_names_of_models_are_in_no_route") {
        return;
    }
    let mut server = TestServer::start(&[("PROWESS_LOG", "debug")]);
    let url = server.url().to_owned();
    run(async move {
        let http = reqwest::Client::new();
        for (key, model, expected) in [
            (MASTER, "unmistakable-model", 404),
            ("sk-pw-wrong-but-secret", "m", 401),
        ] {
            for method in ["generateContent", "embedContent"] {
                let url = format!("{url}/v1beta/models/{model}:{method}?key={key}");
                let body = r#"{"contents": [{"parts": [{"text": "unmistakable-words"}]}]}"#;
                let answer = http.post(url).body(body).send().await.unwrap();
                let status = answer.status().as_u16();
                assert!(status == expected || method == "embedContent", "{status}");
                assert!(!answer.text().await.unwrap().contains(key));
            }
        }
    });
    let log = server.log();
    assert!(
        log.contains("/v1beta/models/{model}:generateContent"),
        "{log}"
    );
    for secret in [MASTER, "sk-pw-wrong", "unmistakable-words"] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for line in lines {
        let route = line["span"]["route"].as_str().unwrap_or_default();
        assert!(!route.contains("unmistakable-model"), "{line}");
    }
}

#[test]
fn sources_of_a_later_turn_are_at_their_place_in_the_whole_text() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let model = Vendor::Gemini.model(0);
        let supports = |segment: Value| json!([{"segment": segment, "groundingChunkIndices": [0]}]);
        for stream in [false, true] {
            let turn = |parts: Value, more: Value| {
                let content = json!({"role": "model", "parts": parts});
                let mut candidate = json!({"content": content, "finishReason": "STOP", "index": 0});
                let fields = candidate.as_object_mut().unwrap();
                fields.extend(more.as_object().unwrap().clone());
                let details = json!([{"modality": "TEXT", "tokenCount": 30}]);
                let usage = json!({"promptTokenCount": 30, "candidatesTokenCount": 10,
                    "promptTokensDetails": details});
                let body = json!({"modelVersion": "m1", "responseId": "up",
                    "candidates": [candidate], "usageMetadata": usage});
                match stream {
                    false => MockResponse::json(200, &body.to_string()),
                    true => MockResponse::sse(&format!("data: {body}\r\n\r\n")),
                }
            };
            let load = json!({"functionCall": {"name": "load_skill", "args": {"name": "report"}}});
            let sources = json!({"groundingMetadata": {
                "groundingChunks": [{"web": {"uri": "https://a.test"}}],
                "groundingSupports": supports(json!({"endIndex": 4, "text": "Done"}))}});
            gateway.upstreams[0].respond(turn(json!([{"text": "Grüße."}, load]), json!({})));
            gateway.upstreams[0].respond(turn(json!([{"text": "Done."}]), sources));
            let request = new_request(ClientDialect::Gemini, &model, stream, &[&skill]);
            let response = gateway.post(&model_path(&model, stream), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);
            assert_eq!(gateway.upstreams[0].requests().await.len(), 2);

            let parts = parts(&response);
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            let text: String = texts.collect();
            assert_eq!(text, "Grüße.\n\nDone.");
            let start = text.find("Done").unwrap();
            let last = response.text.lines().rev().find_map(|line| {
                let line = line.strip_prefix("data: ").unwrap_or(line);
                serde_json::from_str::<Value>(line).ok()
            });
            let last = last.unwrap();
            let there = json!({"endIndex": start + 4, "text": "Done", "startIndex": start});
            let found = &last["candidates"][0]["groundingMetadata"];
            assert_eq!(found["groundingSupports"], supports(there), "{stream}");
            let details = &last["usageMetadata"]["promptTokensDetails"];
            assert_eq!(*details, json!([{"modality": "TEXT", "tokenCount": 60}]));
        }
    });
}
