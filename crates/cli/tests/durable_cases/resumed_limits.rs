//! The limits of a run count what servers before have used.

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::events::assert_dense;
use crate::durable::model::prompts;
use crate::durable::request::KeptDialect;
use crate::on_both_databases;

/// A server is killed after the first command; when another one has the run, it has been going
/// on for longer than it may.
async fn resumed_too_late(database: Option<String>) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", "results-stored:1")];
    let mut bed = Bed::start(database, &variables).await;
    let request = bed.kept_request(KeptDialect::Responses, prompts::WRITE);
    Bed::send_in_background(request);
    bed.wait_for_death().await;
    bed.execute("UPDATE journal_steps SET created_at = created_at - 3600000000 WHERE seq = 0")
        .await;
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "incomplete", "{run:?}");
    // The finished steps are read all the same, and the second command is not run.
    assert_eq!(bed.model.calls(prompts::WRITE), 2);
    let events = bed.events(&run.id).await;
    assert_dense(&events, 0);
    assert_eq!(events.last().unwrap().data["type"], "response.incomplete");
    let results = bed.model.results();
    assert_eq!(results.len(), 1, "{results:?}");
}

#[test]
fn the_time_of_a_run_is_counted_from_its_start_on_another_server_too() {
    on_both_databases(resumed_too_late);
}
