//! One run of the matrix: what it is asked for, and how it must end.

use std::collections::BTreeSet;

use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::Value;

use super::component::Component;
use crate::bed::{ClusterBed, script};
use crate::durable::bed::Bed;
use crate::durable::compare::{assert_same_events, normalised};
use crate::durable::events::{NumberedEvent, assert_dense, parse_events};
use crate::durable::observation::container_id;
use crate::durable::poll::wait_for;

/// The second one leaves a link, a mode and a deletion. The first has a file that is too large for
/// messages and for the database.
const COMMANDS: [&str; 2] = [
    "echo one >> log.txt; touch gone; seq 1 60000 > numbers.txt",
    "echo two >> log.txt; mkdir d; ln -s log.txt l; rm gone; chmod 600 numbers.txt; \
     ls /skills/logs; wc -l < numbers.txt",
];

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A run, and where a component is killed in it.
pub(super) struct Row {
    pub(super) case: String,
    component: Component,
    key: String,
    /// What its client gets.
    client: tokio::task::JoinHandle<String>,
}

/// The cluster, an undisturbed run, and all runs so far.
pub(super) struct Matrix {
    pub(super) bed: ClusterBed,
    webhooks: MockUpstream,
    expected: RowOutcome,
    /// How many rows were started.
    started: usize,
    /// The runs that have ended.
    runs: Vec<String>,
}

/// What can be seen of a run that has ended.
struct RowOutcome {
    events: Vec<NumberedEvent>,
    result: Value,
    files: Vec<String>,
    calls: usize,
}

impl Matrix {
    /// Starts a cluster, and has an undisturbed run in it.
    pub(super) async fn start() -> Matrix {
        let webhooks = MockUpstream::start().await;
        webhooks.respond_always(MockResponse::json(200, "{}"));
        let config = format!(
            "[webhooks]\nallow_private = true\ntimeout_seconds = 1\n\
             [[webhooks.endpoints]]\nurl = '{}/'\nsecret = '{SECRET}'\n",
            webhooks.url()
        );
        let bed = ClusterBed::start_with(&config, |mut plan| {
            plan.gateways = 2;
            plan.slots = 8;
            plan
        })
        .await;
        let mut matrix = Matrix {
            bed,
            webhooks,
            expected: RowOutcome {
                events: Vec::new(),
                result: Value::Null,
                files: Vec::new(),
                calls: 0,
            },
            started: 0,
            runs: Vec::new(),
        };
        let url = matrix.bed.fleet.url();
        Bed::text(matrix.request(&url, "undisturbed")).await;
        matrix.expected = matrix.outcome("undisturbed", "undisturbed").await;
        assert_eq!(matrix.expected.calls, 3);
        assert_eq!(
            matrix.expected.files.len(),
            4,
            "{:?}",
            matrix.expected.files
        );
        matrix
    }

    fn request(&self, url: &str, key: &str) -> reqwest::RequestBuilder {
        let prompt = format!("{} for {key}!", script(&COMMANDS));
        self.bed.kept_request(url, &prompt, key)
    }

    /// A number that no other row has.
    pub(super) fn next_number(&mut self) -> usize {
        self.started += 1;
        self.started
    }

    /// Begins a run at a gateway.
    pub(super) fn begin(&mut self, component: Component, point: &str, url: &str) -> Row {
        let key = format!("run-{}", self.next_number());
        let request = self.request(url, &key);
        Row {
            case: format!("{component:?} at {point}"),
            component,
            client: Bed::send_in_background(request),
            key,
        }
    }

    /// Waits for the end of a run, and stops the test unless it is as the undisturbed one.
    pub(super) async fn check(&mut self, row: Row) {
        let case = &row.case;
        let found = self.outcome(case, &row.key).await;
        let expected = &self.expected;
        assert_same_events(case, &expected.events, &found.events);
        assert_eq!(
            normalised(&found.result),
            normalised(&expected.result),
            "{case}"
        );
        assert_eq!(found.files, expected.files, "{case}");
        let most = expected.calls + row.component.repeated_turns();
        assert!(
            (expected.calls..=most).contains(&found.calls),
            "{case}: {} calls",
            found.calls
        );
        let seen = parse_events(&row.client.await.unwrap());
        match row.component {
            // Its gateway lives, and waits for a database that is started again: the client got
            // everything.
            Component::Worker | Component::Messages | Component::Blobs | Component::Database => {
                assert_eq!(seen, found.events, "{case}");
            }
            // The stream ended early. The client asks again, anywhere.
            Component::Gateway | Component::Balancer => {
                assert!(found.events.starts_with(&seen), "{case}: {seen:?}");
                let url = self.bed.fleet.url();
                let again = Bed::text(self.request(&url, &row.key)).await;
                assert_eq!(parse_events(&again), found.events, "{case}");
            }
        }
    }

    async fn outcome(&mut self, case: &str, key: &str) -> RowOutcome {
        let run = self.bed.ended_run(key).await;
        assert_eq!(run.state, "completed", "{case}: {run:?}");
        self.runs.push(run.id.clone());
        let url = self.bed.fleet.gateways[0].url();
        let events = self.bed.get(&url, &format!("/v1/runs/{}/events", run.id));
        let events = parse_events(&Bed::text(events).await);
        assert_dense(&events, 0);
        RowOutcome {
            events,
            files: self.bed.files(&container_id(&run.result)).await,
            result: run.result,
            calls: self.bed.model.calls(&format!("for {key}!")),
        }
    }

    /// Every run had a webhook, at least once and always with the same id.
    pub(super) async fn check_webhooks(&self) {
        let mut ids = BTreeSet::new();
        wait_for("all webhooks arrive", async || {
            for request in self.webhooks.requests().await {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let run = body["data"]["id"].as_str().unwrap().to_owned();
                ids.insert((run, request.header("webhook-id").unwrap().to_owned()));
            }
            (ids.len() >= self.runs.len()).then_some(())
        })
        .await;
        let runs: BTreeSet<&String> = ids.iter().map(|(run, _)| run).collect();
        assert_eq!(runs.len(), ids.len(), "a run has two webhooks: {ids:?}");
        assert!(
            runs.into_iter()
                .eq(self.runs.iter().collect::<BTreeSet<_>>())
        );
    }
}
