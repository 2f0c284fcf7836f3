//! The vendors' own clients use a stored skill as the vendors' documentation shows, on
//! models of other vendors.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod installed;
mod server;
mod vendors;

use futures_util::future::join_all;
use installed::{python, succeeded};
use prowess_testkit::SkillFixture;
use serde_json::json;
use server::MASTER;
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

/// What the program of a client does, before a model that makes a report as often as it
/// is asked to: which of its answers are streamed.
async fn program(client: &str, script: &str, vendor: Vendor, streamed: &[bool]) {
    let gateway = TestGateway::open(1, "").await;
    let make = "open('/mnt/data/report.txt', 'w').write('all is well')\nprint('made it')\n";
    let skill = SkillFixture::new("report").script("scripts/make.py", make);
    let skill = gateway.store(&skill).await;
    let command = json!({"command": "python3 /skills/report/scripts/make.py"});
    for stream in streamed {
        let call = ("bash_code_execution", command.clone());
        gateway.upstreams[0].respond(vendor.calls(*stream, "I make it.", &[call]));
        gateway.upstreams[0].respond(vendor.text_turn(*stream, "Done."));
    }
    let mut program = python(client, script);
    program
        .env("PROWESS_URL", gateway.server.url())
        .env("PROWESS_API_KEY", MASTER)
        .env("PROWESS_MODEL", vendor.model(0))
        .env("PROWESS_SKILL", &skill);
    tokio::task::spawn_blocking(move || succeeded(&mut program))
        .await
        .unwrap();
    let requests = gateway.upstreams[0].requests().await;
    assert_eq!(requests.len(), streamed.len() * 2);
}

#[test]
fn anthropics_client_uses_skills_on_models_of_others() {
    let vendors = [Vendor::Chat, Vendor::Gemini, Vendor::Converse];
    let streamed = [false, false, true, false];
    let program = |vendor| program("anthropic-2.8", "skills_anthropic.py", vendor, &streamed);
    run(join_all(vendors.map(program)));
}

#[test]
fn openais_client_uses_skills_on_models_of_others() {
    let vendors = [Vendor::Anthropic, Vendor::Gemini];
    let streamed = [false, true, false, true];
    let program = |vendor| program("openai-3.49", "skills_openai.py", vendor, &streamed);
    run(join_all(vendors.map(program)));
}

#[test]
fn googles_client_uses_skills_on_models_of_others() {
    let vendors = [Vendor::Anthropic, Vendor::Chat, Vendor::Gemini];
    let streamed = [false, true, false];
    let program = |vendor| program("google-genai", "skills_google.py", vendor, &streamed);
    run(join_all(vendors.map(program)));
}
