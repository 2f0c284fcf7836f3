//! What clients can see of a run when it is over.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bed::Bed;
use super::compare::{assert_same_events, normalised};
use super::events::{NumberedEvent, assert_dense, parse_events};
use super::model::prompts;
use super::poll::wait_for;
use super::request::KeptDialect;

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Observation {
    events: Vec<NumberedEvent>,
    result: Value,
    /// The names, modes and links of the container's files, and the log.
    pub(crate) files: String,
    pub(crate) calls: usize,
    /// The tool results that the model was sent.
    results: BTreeSet<String>,
    usage: Value,
    /// What each skill took, as usage and as the record of the run have it.
    costs: [Value; 2],
}

impl Observation {
    /// Waits for the end of the only run, and reads it.
    pub(crate) async fn wait(case: &str, bed: &Bed, dialect: KeptDialect) -> Observation {
        let id = bed.only_run().await.id;
        let events = bed.events(&id).await;
        assert_dense(&events, 0);
        let run = bed.only_run().await;
        assert_eq!(run.state, "completed", "{case}: {run:?}");
        // The record is written a moment after the end: a server that dies between loses it.
        let may_lack_record = case.ends_with("Named(\"ended\")");
        let shown = wait_for("the record of the run", async || {
            let shown = Bed::json(bed.get(&format!("/v1/runs/{id}"))).await;
            assert_eq!(shown["status"], "completed", "{case}: {shown}");
            (shown["skills"].is_array() || may_lack_record).then_some(shown)
        })
        .await;
        let calls = bed.model.calls(prompts::WRITE);
        // Before other requests.
        let usage = bed.usage().await;
        let costs = bed.skill_costs().await;
        assert_costs(case, &costs);
        let recorded = shown["skills"].clone();
        match dialect {
            KeptDialect::Messages => {
                // The same request again gets the same response, without a call.
                let again = Bed::text(bed.kept_request(dialect, prompts::WRITE)).await;
                assert_eq!(parse_events(&again), events, "{case}");
                assert_eq!(bed.model.calls(prompts::WRITE), calls, "{case}");
            }
            KeptDialect::Chat | KeptDialect::Gemini => {}
            KeptDialect::Responses | KeptDialect::Polled => {
                let response = format!("/v1/responses/{}", id.replace("run_", "resp_"));
                let streamed = format!("{response}?stream=true");
                let streamed = parse_events(&Bed::text(bed.get(&streamed)).await);
                let data = |events: &[NumberedEvent]| -> Vec<Value> {
                    events.iter().map(|event| event.data.clone()).collect()
                };
                assert_eq!(data(&streamed), data(&events), "{case}");
                assert_dense(&streamed, 0);
                let stored = Bed::json(bed.get(&response)).await;
                assert_eq!(stored, run.result["response"], "{case}");
                // The same items, but for those that the stream has of a turn that was repeated.
                let last = &events.last().unwrap().data["response"]["output"];
                let mut last = last.as_array().unwrap().clone();
                last.retain(|item| item["status"] != "incomplete");
                assert_eq!(stored["output"], Value::Array(last), "{case}");
            }
        }
        let container = container_id(&run.result);
        Observation {
            results: bed.model.results(),
            files: bed.files(&container).await,
            events,
            result: run.result,
            calls,
            usage,
            costs: [costs["data"].clone(), recorded],
        }
    }

    /// Stops the test unless a run that a kill disturbed ended as this one. Returns the events
    /// of the abandoned item, if there is one.
    pub(crate) fn assert_same(&self, case: &str, disturbed: &Observation) -> Vec<Value> {
        assert_eq!(disturbed.results, self.results, "{case}");
        let abandoned = assert_same_events(case, &self.events, &disturbed.events);
        assert_eq!(
            normalised(&disturbed.result),
            normalised(&self.result),
            "{case}"
        );
        assert_eq!(disturbed.files, self.files, "{case}");
        assert_eq!(
            normalised(&disturbed.usage),
            normalised(&self.usage),
            "{case}"
        );
        for (disturbed, undisturbed) in disturbed.costs.iter().zip(&self.costs) {
            if disturbed.is_null() {
                continue;
            }
            assert_eq!(normalised(disturbed), normalised(undisturbed), "{case}");
        }
        assert!(
            disturbed.calls <= self.calls + 1,
            "{case}: {} calls",
            disturbed.calls
        );
        abandoned
    }
}

/// The skill was used once, in the sandbox, and all rows are the total.
fn assert_costs(case: &str, costs: &Value) {
    let rows = costs["data"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{case}: {costs}");
    for count in ["input_tokens", "output_tokens", "sandbox_ms"] {
        let sum: u64 = rows.iter().filter_map(|row| row[count].as_u64()).sum();
        assert_eq!(costs["total"][count], sum, "{case}: {count} {costs}");
    }
    let skill = &rows[0];
    assert_eq!(skill["runs_used"], 1, "{case}: {costs}");
    assert_eq!(skill["runs_offered"], 1, "{case}: {costs}");
    assert_ne!(skill["used"]["output_tokens"], 0, "{case}: {costs}");
    assert_ne!(skill["sandbox_ms"], 0, "{case}: {costs}");
}

/// The id of the container that a response names.
pub(crate) fn container_id(result: &Value) -> String {
    let text = result.to_string();
    let mut words = text.split('"');
    let is_id = |word: &&str| {
        let prefixes = ["container_", "cntr_"];
        let mut suffixes = prefixes
            .iter()
            .filter_map(|prefix| word.strip_prefix(prefix));
        suffixes.any(|suffix| suffix.len() == 24)
    };
    let id = words.find(is_id);
    id.unwrap_or_else(|| panic!("no container: {text}"))
        .replace("cntr_", "container_")
}
