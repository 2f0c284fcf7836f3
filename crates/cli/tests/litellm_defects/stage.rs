//! A server with a stored skill, and a model that runs commands.

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use super::vendors::client::new_request;
use super::vendors::upstream_request::UpstreamRequest;
use super::vendors::vendor::Vendor;
use super::vendors::{GatewayResponse, TestGateway};

pub(crate) const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// A server with a stored skill.
pub(crate) async fn start_gateway() -> (TestGateway, String) {
    start_gateway_with("").await
}

pub(crate) async fn start_gateway_with(more: &str) -> (TestGateway, String) {
    let gateway = TestGateway::open(1, more).await;
    let skill = SkillFixture::new("report")
        .body("Report well.\n")
        .file("notes/more.md", "More about reports.");
    let id = gateway.store(&skill).await;
    (gateway, id)
}

/// A model of OpenAI's that runs commands, one in each turn, and then ends.
pub(crate) async fn commands(
    gateway: &TestGateway,
    skills: &[&str],
    commands: &[&str],
) -> (GatewayResponse, Vec<UpstreamRequest>) {
    let request = new_request(
        ClientDialect::Messages,
        &Vendor::Chat.model(0),
        false,
        skills,
    );
    gateway
        .talk(
            ClientDialect::Messages,
            Vendor::Chat,
            &request,
            turns(commands),
        )
        .await
}

pub(crate) fn turns(commands: &[&str]) -> Vec<MockResponse> {
    let calls = commands.iter().map(|command| bash(command));
    let turns = calls.map(|call| Vendor::Chat.calls(false, "I run it.", &[call]));
    turns
        .chain([Vendor::Chat.text_turn(false, "Done.")])
        .collect()
}

pub(crate) fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

/// What the last command gave.
pub(crate) fn last_result(sent: &[UpstreamRequest]) -> &str {
    let last = sent.last().unwrap();
    last.result(last.results.len() - 1)
}
