//! Where the server of a run is killed.

use serde_json::Value;

use super::bed::{Bed, SHORT_LEASE};
use super::model::prompts;
use super::observation::Observation;
use super::request::KeptDialect;

/// Where it is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KillPoint {
    /// At a named place, and at which time that it is reached there.
    Named(&'static str),
    /// After events of this turn were stored, which the model has not finished.
    Stalled(usize),
}

impl KillPoint {
    /// Every place that a run of three turns passes, in each of its turns.
    pub(crate) const ALL: &[KillPoint] = &[
        KillPoint::Named("before-turn:1"),
        KillPoint::Named("before-turn:2"),
        KillPoint::Named("before-turn:3"),
        KillPoint::Named("in-stream:1"),
        KillPoint::Named("in-stream:4"),
        KillPoint::Named("in-stream:11"),
        KillPoint::Named("in-stream:18"),
        KillPoint::Named("events-stored"),
        KillPoint::Stalled(2),
        KillPoint::Stalled(3),
        KillPoint::Named("turn-received:1"),
        KillPoint::Named("turn-received:2"),
        KillPoint::Named("turn-received:3"),
        KillPoint::Named("turn-stored:1"),
        KillPoint::Named("turn-stored:2"),
        KillPoint::Named("turn-stored:3"),
        KillPoint::Named("before-command:1"),
        KillPoint::Named("before-command:2"),
        KillPoint::Named("command-done:1"),
        KillPoint::Named("command-done:2"),
        KillPoint::Named("files-staged:1"),
        KillPoint::Named("files-staged:2"),
        KillPoint::Named("results-stored:1"),
        KillPoint::Named("results-stored:2"),
        KillPoint::Named("before-end"),
        KillPoint::Named("ended"),
    ];

    /// Whether a run of this dialect passes it: a model that is not asked for a stream sends
    /// whole turns.
    pub(crate) fn is_passed_by(self, dialect: KeptDialect) -> bool {
        dialect != KeptDialect::Polled
            || match self {
                KillPoint::Stalled(_) => false,
                KillPoint::Named(name) => {
                    !name.starts_with("in-stream") && !name.starts_with("events-stored")
                }
            }
    }

    /// Runs a request whose server is killed here, and then another server to its end.
    pub(crate) async fn run(
        self,
        case: &str,
        dialect: KeptDialect,
        database: Option<String>,
    ) -> Observation {
        let mut variables = vec![SHORT_LEASE];
        if let KillPoint::Named(point) = self {
            variables.push(("PROWESS_FAIL_POINT", point));
        }
        let mut bed = Bed::start(database, &variables).await;
        match self {
            KillPoint::Named(point) => {
                if point.starts_with("events-stored") {
                    bed.model.hang_in(1);
                }
                Bed::send_in_background(bed.kept_request(dialect, prompts::WRITE));
                bed.wait_for_death().await;
            }
            KillPoint::Stalled(turn) => {
                bed.model.hang_in(turn);
                let request = bed.kept_request(dialect, prompts::WRITE);
                let mut response = request.send().await.unwrap();
                let mut received = String::new();
                // The first word of the turn, as a part of its text.
                let (word, count) = if turn == 3 {
                    ("\"All \"", 1)
                } else {
                    ("\"Now \"", turn)
                };
                while received.matches(word).count() < count {
                    let chunk = response.chunk().await.unwrap().unwrap();
                    received.push_str(&String::from_utf8_lossy(&chunk));
                }
                bed.server.kill();
            }
        }
        bed.restart(&[]);
        Observation::wait(case, &bed, dialect).await
    }

    /// Stops the test unless an item is abandoned only if a part of it was stored before the kill; the Responses API
    /// has a mark for it.
    pub(crate) fn assert_abandoned(self, case: &str, dialect: KeptDialect, abandoned: &[Value]) {
        let is_certain = match self {
            KillPoint::Stalled(_) => true,
            KillPoint::Named(name) => name == "events-stored",
        };
        let is_possible = match self {
            KillPoint::Stalled(_) => true,
            KillPoint::Named(name) => {
                let before = ["in-stream", "events-stored", "turn-received"];
                before.iter().any(|place| name.starts_with(place))
            }
        };
        assert!(abandoned.is_empty() || is_possible, "{case}: {abandoned:?}");
        assert!(!abandoned.is_empty() || !is_certain, "{case}");
        if dialect == KeptDialect::Responses && !abandoned.is_empty() {
            let marked = abandoned.iter().filter(|event| {
                event["type"] == "response.output_item.done"
                    && event["item"]["status"] == "incomplete"
            });
            assert_eq!(marked.count(), 1, "{case}: {abandoned:?}");
        }
    }
}
