//! An upstream that breaks after a tool call: the run fails, and every client learns it, now and
//! later.

use prowess_testkit::postgres::TestPostgres;
use serde_json::Value;

use crate::durable::bed::Bed;
use crate::durable::events::{NumberedEvent, assert_dense, parse_events};
use crate::durable::model::{Breakage, prompts};
use crate::durable::request::KeptDialect;
use crate::run;

/// Stops the test unless the events end with the error as the dialect has it.
fn assert_failed(case: &str, dialect: KeptDialect, events: &[NumberedEvent]) {
    assert_dense(events, 0);
    let show = || events.iter().map(|event| event.text.as_str());
    let last = &events.last().unwrap().data;
    let error = match dialect {
        KeptDialect::Messages => {
            assert_eq!(
                last["type"],
                "error",
                "{case}: {:?}",
                show().collect::<String>()
            );
            &last["error"]["message"]
        }
        KeptDialect::Chat | KeptDialect::Gemini => &last["error"]["message"],
        KeptDialect::Responses | KeptDialect::Polled => {
            assert_eq!(last["type"], "response.failed", "{case}: {last}");
            let before = &events[events.len() - 2].data;
            assert_eq!(before["type"], "error", "{case}: {before}");
            assert_eq!(last["response"]["status"], "failed", "{case}: {last}");
            &last["response"]["error"]["message"]
        }
    };
    assert!(error.is_string(), "{case}: {last}");
    // What came before is there: the first turn, and its command.
    let all: String = show().collect();
    let is_shown = all.contains("command") && all.contains("Now");
    assert!(is_shown, "{case}: {all}");
    let ends = ["message_stop", "[DONE]", "response.completed"];
    assert!(!ends.iter().any(|end| all.contains(end)), "{case}: {all}");
}

async fn breaks(database: Option<String>, dialect: KeptDialect, how: Breakage) {
    let case = format!("{dialect:?} {how:?} {database:?}");
    let mut bed = Bed::start(database, &[]).await;
    bed.model.break_in(2, how);
    let answer = Bed::text(bed.kept_request(dialect, prompts::WRITE)).await;
    let run = bed.ended_run().await;
    assert_eq!(run.state, "failed", "{case}: {run:?}");
    let events = bed.events(&run.id).await;
    assert_failed(&case, dialect, &events);
    if dialect != KeptDialect::Polled {
        assert_eq!(parse_events(&answer), events, "{case}");
    }
    let shown = Bed::json(bed.get(&format!("/v1/runs/{}", run.id))).await;
    assert_eq!(shown["status"], "failed", "{case}: {shown}");
    let response = format!("/v1/responses/{}", run.id.replace("run_", "resp_"));
    let is_response = matches!(dialect, KeptDialect::Responses | KeptDialect::Polled);
    let stored = async |bed: &Bed| match is_response {
        true => Bed::json(bed.get(&response)).await,
        false => Value::Null,
    };
    let before = stored(&bed).await;
    if is_response {
        assert_eq!(before["status"], "failed", "{case}: {before}");
        assert!(before["error"]["message"].is_string(), "{case}: {before}");
    }
    // The first turn, and the one that broke: neither is repeated, by any server.
    assert_eq!(bed.model.calls(prompts::WRITE), 2, "{case}");
    bed.restart(&[]);
    assert_eq!(bed.events(&run.id).await, events, "{case}");
    assert_eq!(stored(&bed).await, before, "{case}");
    if dialect == KeptDialect::Messages {
        let again = bed.kept_request(dialect, prompts::WRITE);
        let again = Bed::text(again).await;
        assert_eq!(parse_events(&again), events, "{case}");
    }
    assert_eq!(bed.model.calls(prompts::WRITE), 2, "{case}");
}

#[test]
fn a_run_whose_upstream_breaks_after_a_command_fails_for_every_client() {
    run(async {
        for how in [Breakage::CutOff, Breakage::ServerError] {
            let all = KeptDialect::ALL.map(|dialect| breaks(None, dialect, how));
            futures_util::future::join_all(all).await;
        }
        let postgres = TestPostgres::start();
        let database = Some(postgres.database());
        breaks(database, KeptDialect::Responses, Breakage::CutOff).await;
    });
}
