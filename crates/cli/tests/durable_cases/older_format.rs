//! A run that a server of an older version began: this one reads its journal and goes on.

use prowess_testkit::postgres::TestPostgres;
use serde_json::{Value, json};

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::model::prompts;
use crate::durable::observation::Observation;
use crate::durable::request::KeptDialect;
use crate::{run, undisturbed};

/// Makes the journal of the only run one of format 1: what was fixed before the first turn is a
/// step of its own.
async fn make_older(bed: &Bed) {
    let turn = "SELECT body FROM journal_steps WHERE seq = 0";
    let mut turn: Value = serde_json::from_str(&bed.text_of(turn).await).unwrap();
    let mut start = turn.as_object_mut().unwrap().remove("start").unwrap();
    start.as_object_mut().unwrap().remove("elapsed_ms").unwrap();
    // In two moves, as no number may exist twice at any moment.
    bed.execute("UPDATE journal_steps SET seq = seq + 1000")
        .await;
    bed.execute("UPDATE journal_steps SET seq = seq - 999")
        .await;
    bed.execute_with(
        "UPDATE journal_steps SET body = $1 WHERE seq = 1",
        &turn.to_string(),
    )
    .await;
    bed.execute_with(
        "INSERT INTO journal_steps (run, seq, epoch, kind, call, body, created_at)
         SELECT run, 0, epoch, 'start', NULL, $1, created_at FROM journal_steps WHERE seq = 1",
        &start.to_string(),
    )
    .await;
    bed.execute("UPDATE journal_runs SET next_step = next_step + 1, format = 1")
        .await;
}

/// Makes the journal that of a run which an older server had only prepared.
async fn make_older_start(bed: &Bed) {
    let start = json!({
        "container": null, "upstream_container": null, "pins": [], "native_skills": [],
    });
    bed.execute_with(
        "INSERT INTO journal_steps (run, seq, epoch, kind, call, body, created_at)
         SELECT id, 0, epoch, 'start', NULL, $1, created_at FROM journal_runs",
        &start.to_string(),
    )
    .await;
    bed.execute("UPDATE journal_runs SET next_step = 1, format = 1")
        .await;
}

async fn goes_on_from(point: &'static str, database: Option<String>, undisturbed: &Observation) {
    let dialect = KeptDialect::Responses;
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", point)];
    let mut bed = Bed::start(database, &variables).await;
    Bed::send_in_background(bed.kept_request(dialect, prompts::WRITE));
    bed.wait_for_death().await;
    match point {
        "before-turn:1" => make_older_start(&bed).await,
        _ => make_older(&bed).await,
    }
    bed.restart(&[]);
    let resumed = Observation::wait(point, &bed, dialect).await;
    undisturbed.assert_same(point, &resumed);
    // An older server would not know how to read what was added.
    let formats = "SELECT COUNT(*) FROM journal_runs WHERE format > 1";
    assert_eq!(bed.number(formats).await, 1, "{point}");
}

async fn goes_on(database: impl Fn() -> Option<String>) {
    let undisturbed = undisturbed(KeptDialect::Responses, database()).await;
    let points = ["before-turn:1", "turn-stored:1", "results-stored:1"];
    let points = points.map(|point| goes_on_from(point, database(), &undisturbed));
    futures_util::future::join_all(points).await;
}

#[test]
fn a_run_that_an_older_version_began_goes_on() {
    let postgres = TestPostgres::start();
    std::thread::scope(|scope| {
        scope.spawn(|| run(goes_on(|| None)));
        run(goes_on(|| Some(postgres.database())));
    });
}
