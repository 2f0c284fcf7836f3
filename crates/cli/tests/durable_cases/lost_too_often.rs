//! A run that makes its servers die: it is resumed a few times, and then it fails.

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::events::assert_dense;
use crate::durable::model::prompts;
use crate::durable::request::KeptDialect;
use crate::on_both_databases;

/// A run that ten servers died with: two of this test, and others that only its row names.
async fn ten_servers_die(database: Option<String>) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", "before-turn:1")];
    let mut bed = Bed::start(database, &variables).await;
    let request = bed.kept_request(KeptDialect::Responses, prompts::WRITE);
    Bed::send_in_background(request);
    bed.wait_for_death().await;
    bed.restart(&variables);
    bed.wait_for_death().await;
    let owner = bed.text_of("SELECT owner FROM journal_runs").await;
    assert!(owner.ends_with(" lost:1@0"), "{owner}");
    bed.execute("UPDATE journal_runs SET owner = REPLACE(owner, ' lost:1@', ' lost:9@')")
        .await;
    bed.restart(&variables);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "failed", "{run:?}");
    let result = run.result.to_string();
    assert!(result.contains("run-lost-too-often"), "{result}");
    assert_eq!(bed.model.calls(prompts::WRITE), 0);
    let events = bed.events(&run.id).await;
    assert_dense(&events, 0);
    let last = events.last().unwrap().data.to_string();
    assert!(last.contains("again and again"), "{last}");
}

#[test]
fn a_run_that_its_servers_die_of_fails_in_the_end() {
    on_both_databases(ten_servers_die);
}
