//! A run with `auto` whose server is killed: the next server offers the same skills, although
//! others are stored meanwhile that fit better.

use prowess_testkit::SkillFixture;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::model::prompts;
use crate::durable::request::KeptDialect;
use crate::on_both_databases;

/// Stored skills: more than are offered whatever the task.
const SKILLS: usize = 70;

async fn upload(bed: &Bed, name: &str, description: &str) -> String {
    let fixture = SkillFixture::new(name).field("description", description);
    let form = fixture.files().into_iter().fold(Form::new(), |form, file| {
        let part = Part::bytes(file.1.to_vec()).file_name(format!("{name}/{}", file.0));
        form.part("files[]", part)
    });
    let made = Bed::json(bed.post("/v1/skills").multipart(form)).await;
    made["id"].as_str().unwrap().to_owned()
}

async fn offers_the_same(database: Option<String>, dialect: KeptDialect) {
    let mut bed = Bed::start(database, &[SHORT_LEASE]).await;
    let mut ids = Vec::new();
    for number in 0..SKILLS {
        let name = format!("journal-{number}");
        ids.push(upload(&bed, &name, "Keeps a log of what was done.").await);
    }
    bed.model.hang_in(2);
    let body = dialect.body(&format!("{} /write-logs", prompts::WRITE), "auto");
    let mut request = bed.post(dialect.path()).body(body.to_string());
    for (name, value) in dialect.headers("one") {
        request = request.header(name, value);
    }
    let mut response = request.send().await.unwrap();
    let mut received = String::new();
    while received.matches("\"Now \"").count() < 2 {
        let chunk = response.chunk().await.unwrap().unwrap();
        received.push_str(&String::from_utf8_lossy(&chunk));
    }
    // The skill that the request mentions is stored only now; one that is offered is deleted.
    upload(&bed, "write-logs", "Writes the log. Use to write the log.").await;
    let offered = bed.model.requests()[0]["system"].to_string();
    assert!(offered.contains("- journal-0: Keeps a log"), "{offered}");
    assert!(!offered.contains("- write-logs:"), "{offered}");
    let deleted = bed.url(&format!("/v1/skills/{}", ids[0]));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.delete(deleted).bearer_auth(crate::server::MASTER);
    Bed::text(request).await;
    bed.server.kill();
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "completed", "{run:?}");
    let requests = bed.model.requests();
    // Three turns, the second of them twice.
    assert_eq!(requests.len(), 4, "{requests:?}");
    for request in &requests {
        assert_eq!(request["system"].to_string(), offered);
        assert_eq!(request["tools"], requests[0]["tools"]);
    }
    let messages = |at: usize| requests[at]["messages"].as_array().unwrap();
    assert_eq!(messages(1), messages(2));
    let begins_with = |all: &[Value], start: &[Value]| all.get(..start.len()) == Some(start);
    assert!(begins_with(messages(1), messages(0)));
    assert!(begins_with(messages(3), messages(2)));
}

/// One test for each dialect: they run at the same time, and wait most of it for leases to end.
fn offers_the_same_on_both_databases(dialect: KeptDialect) {
    on_both_databases(async |database| offers_the_same(database, dialect).await);
}

#[test]
fn a_resumed_run_of_messages_with_auto_offers_the_same_skills() {
    offers_the_same_on_both_databases(KeptDialect::Messages);
}

#[test]
fn a_resumed_run_of_chat_with_auto_offers_the_same_skills() {
    offers_the_same_on_both_databases(KeptDialect::Chat);
}

#[test]
fn a_resumed_run_of_responses_with_auto_offers_the_same_skills() {
    offers_the_same_on_both_databases(KeptDialect::Responses);
}
