//! Calls whose arguments a model has nested as deep as parsers allow: what is stored of their runs
//! can be read.

use prowess_wire::ClientDialect;
use serde_json::json;

use crate::gateway::{Gateway, path};
use crate::runs::{model_response, request_naming, stored};

#[tokio::test]
async fn a_kept_run_whose_model_nests_arguments_deeply_has_a_response() {
    let gateway = Gateway::start().await;
    let skill = stored(&gateway).await;
    // They can be parsed by themselves, and not inside of a response.
    let lists = (0..125).fold(json!(1), |inner, _| json!([inner]));
    let arguments = json!({ "a": lists });
    let text = arguments.to_string();
    let call = [("weather", arguments)];
    let turn = model_response("oai/m1", false, "Let me see.", &call);
    gateway.upstream.respond(turn);
    let client = ClientDialect::Messages;
    let body = request_naming(client, "oai/m1", &skill, false).to_string();
    let kept = [("prowess-keep", "true")];
    let answer = gateway.send(path(client), &kept, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    let blocks = answer["content"].as_array().unwrap();
    let call = blocks.iter().find(|block| block["type"] == "tool_use");
    assert_eq!(call.unwrap()["input"], json!({ "input": text }));
}
