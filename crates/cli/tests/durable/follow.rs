//! Clients that follow a run, leave, and come back.

use reqwest::StatusCode;

use super::bed::Bed;
use super::events::{NumberedEvent, parse_events};
use super::request::KeptDialect;

/// The next event of a run for a client that has those before, and then leaves.
pub(crate) async fn next_event(
    bed: &Bed,
    dialect: KeptDialect,
    run: &str,
    last: Option<u64>,
) -> Option<NumberedEvent> {
    let mut response = follow(bed, dialect, run, last).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut received = String::new();
    loop {
        let events = parse_events(&received);
        if let Some(first) = events.into_iter().next() {
            return Some(first);
        }
        let chunk = response.chunk().await.unwrap()?;
        received.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// The request to follow a run after an event.
pub(crate) fn follow(
    bed: &Bed,
    dialect: KeptDialect,
    run: &str,
    last: Option<u64>,
) -> reqwest::RequestBuilder {
    match (dialect, last) {
        (KeptDialect::Responses, Some(last)) => {
            let response = run.replace("run_", "resp_");
            let query = format!("stream=true&starting_after={last}");
            bed.get(&format!("/v1/responses/{response}?{query}"))
        }
        (_, last) => {
            let request = bed.get(&format!("/v1/runs/{run}/events"));
            match last {
                Some(last) => request.header("last-event-id", last),
                None => request,
            }
        }
    }
}
