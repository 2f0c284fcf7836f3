//! What clients can see of a run when it is over.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bed::Bed;
use super::compare::{assert_same_events, normalised};
use super::events::{NumberedEvent, assert_dense, parse_events};
use super::model::prompts;
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
}

impl Observation {
    /// Waits for the end of the only run, and reads it.
    pub(crate) async fn wait(case: &str, bed: &Bed, dialect: KeptDialect) -> Observation {
        let id = bed.only_run().await.id;
        let events = bed.events(&id).await;
        assert_dense(&events, 0);
        let run = bed.only_run().await;
        assert_eq!(run.state, "completed", "{case}: {run:?}");
        let shown = Bed::json(bed.get(&format!("/v1/runs/{id}"))).await;
        assert_eq!(shown["status"], "completed", "{case}: {shown}");
        let calls = bed.model.calls(prompts::WRITE);
        // Before other requests.
        let usage = bed.usage().await;
        match dialect {
            KeptDialect::Messages => {
                // The same request again gets the same response, without a call.
                let again = Bed::text(bed.kept_request(dialect, prompts::WRITE)).await;
                assert_eq!(parse_events(&again), events, "{case}");
                assert_eq!(bed.model.calls(prompts::WRITE), calls, "{case}");
            }
            KeptDialect::Chat => {}
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
        assert!(
            disturbed.calls <= self.calls + 1,
            "{case}: {} calls",
            disturbed.calls
        );
        abandoned
    }
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
