//! A minute of disturbances while hundreds of runs are made: none is lost, none is made twice, and
//! all files are exact. A seed decides what is disturbed, and when.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use prowess_testkit::fleet::FleetMember;
use serde_json::Value;
use sqlx::Row;

use crate::bed::{ClusterBed, files_of, script, send_until_whole};
use crate::durable::bed::SHORT_LEASE;
use crate::durable::observation::container_id;
use crate::soak;

/// Clients that wait at the same time.
const CLIENTS: usize = 16;
/// How long something is lost or stopped, in milliseconds: for some longer than a lease, and
/// longer than a worker may be silent.
const OUTAGE: std::ops::Range<u64> = 200..5_000;
/// Between two disturbances.
const PAUSE: std::ops::Range<u64> = 100..1_500;
/// How long the last runs may take when nothing is disturbed any more.
const MAX_REST: Duration = Duration::from_secs(120);

/// The second one takes a moment, in which its worker may go.
const COMMANDS: [&str; 2] = [
    "echo one >> log.txt; touch gone; seq 1 60000 > numbers.txt",
    "echo two >> log.txt; ln -s log.txt l; rm gone; chmod 600 numbers.txt; sleep 0.2",
];

#[derive(Debug, Clone, Copy)]
enum Disturbance {
    KillGateway,
    KillWorker,
    StopGateway,
    StopWorker,
    LoseDatabase,
    LoseGatewayMessages,
    LoseWorkerMessages,
    LoseBlobs,
    KillMessages,
    KillDatabase,
    KillBalancer,
}

/// Each as often as it is likely.
const DISTURBANCES: [Disturbance; 17] = [
    Disturbance::KillGateway,
    Disturbance::KillGateway,
    Disturbance::KillGateway,
    Disturbance::KillWorker,
    Disturbance::KillWorker,
    Disturbance::KillWorker,
    Disturbance::StopGateway,
    Disturbance::StopGateway,
    Disturbance::StopWorker,
    Disturbance::StopWorker,
    Disturbance::LoseDatabase,
    Disturbance::LoseGatewayMessages,
    Disturbance::LoseWorkerMessages,
    Disturbance::LoseBlobs,
    Disturbance::KillMessages,
    Disturbance::KillDatabase,
    Disturbance::KillBalancer,
];

/// Disturbs something, and has it back after a while.
async fn disturb(bed: &mut ClusterBed, random: &mut Rng) -> Disturbance {
    let disturbance = DISTURBANCES[random.usize(..DISTURBANCES.len())];
    let outage = Duration::from_millis(random.u64(OUTAGE));
    let fleet = &mut bed.fleet;
    let (gateway, worker) = (
        random.usize(..fleet.gateways.len()),
        random.usize(..fleet.workers.len()),
    );
    let network = match disturbance {
        Disturbance::LoseDatabase => fleet.gateways[gateway].database.clone(),
        Disturbance::LoseGatewayMessages => fleet.gateways[gateway].messages.clone(),
        Disturbance::LoseBlobs => fleet.gateways[gateway].blobs.clone(),
        Disturbance::LoseWorkerMessages => fleet.workers[worker].messages.clone(),
        _ => None,
    };
    match disturbance {
        Disturbance::KillGateway => fleet.gateways[gateway].restart(&[]),
        Disturbance::KillWorker => fleet.workers[worker].restart(&[]),
        Disturbance::StopGateway => stop(&fleet.gateways[gateway], outage).await,
        Disturbance::StopWorker => stop(&fleet.workers[worker], outage).await,
        Disturbance::KillMessages => fleet.nats.restart(),
        Disturbance::KillDatabase => {
            fleet.postgres.kill();
            fleet.postgres.recover();
        }
        Disturbance::KillBalancer => fleet.haproxy.restart(),
        _ => {
            let network = network.unwrap();
            network.lose();
            tokio::time::sleep(outage).await;
            network.restore();
        }
    }
    disturbance
}

async fn stop(member: &FleetMember, outage: Duration) {
    member.stop();
    tokio::time::sleep(outage).await;
    member.resume();
}

/// Starts again what ended by itself: a gateway does that if it finds no database when it starts.
fn revive(bed: &mut ClusterBed) {
    let gateways = bed.fleet.gateways.iter_mut();
    for member in gateways.chain(&mut bed.fleet.workers) {
        if member.status().is_some() {
            member.restart(&[]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disturbances_lose_and_double_nothing() {
    let (lease, millis) = SHORT_LEASE;
    let mut bed = ClusterBed::start_with("", |mut plan| {
        plan.slots = 8;
        plan.variable(lease, millis)
    })
    .await;
    let url = bed.fleet.url();
    let prompt = script(&COMMANDS);
    send_until_whole(bed.kept_request(&url, &prompt, "undisturbed")).await;
    let undisturbed = bed.ended_run("undisturbed").await;
    let expected = bed.files(&container_id(&undisturbed.result)).await;
    assert_eq!(expected.len(), 3, "{expected:?}");
    let charged = charged_tokens(&bed).await;
    let runs = soak::runs();
    let permits = Arc::new(tokio::sync::Semaphore::new(CLIENTS));
    let clients: Vec<_> = (0..runs)
        .map(|number| {
            let request = bed.kept_request(&url, &prompt, &format!("chaos-{number}"));
            let permits = Arc::clone(&permits);
            tokio::spawn(async move {
                let _permit = permits.acquire().await.unwrap();
                send_until_whole(request).await;
            })
        })
        .collect();
    let mut random = Rng::with_seed(soak::seed());
    let mut disturbances = Vec::new();
    let started = Instant::now();
    while started.elapsed() < soak::disturbance()
        && clients.iter().any(|client| !client.is_finished())
    {
        let pause = Duration::from_millis(random.u64(PAUSE));
        tokio::time::sleep(pause).await;
        disturbances.push(disturb(&mut bed, &mut random).await);
        revive(&mut bed);
    }
    let deadline = Instant::now() + MAX_REST;
    while clients.iter().any(|client| !client.is_finished()) {
        let left = clients
            .iter()
            .filter(|client| !client.is_finished())
            .count();
        assert!(
            Instant::now() < deadline,
            "{left} runs have not ended after {disturbances:?}"
        );
        revive(&mut bed);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_exact(&bed, runs, &expected, &disturbances).await;
    // Also what was asked of the model twice is charged once.
    let all = i64::try_from(runs + 1).unwrap();
    let expected = charged.map(|tokens| tokens * all);
    assert_eq!(charged_tokens(&bed).await, expected, "{disturbances:?}");
}

/// The tokens that runs were charged with, those of requests and those of responses.
async fn charged_tokens(bed: &ClusterBed) -> [i64; 2] {
    let query = "SELECT SUM(input_tokens)::BIGINT, SUM(output_tokens)::BIGINT FROM usage";
    let query = sqlx::query_as::<_, (i64, i64)>(query);
    let sums = query.fetch_one(&mut bed.database().await).await.unwrap();
    sums.into()
}

/// Steps of a run: three turns, the results of two, and the container that was opened for the
/// first command.
const STEPS: i64 = 6;

/// Every run has ended once, with the steps and files of an undisturbed one.
async fn assert_exact(
    bed: &ClusterBed,
    runs: usize,
    expected: &[String],
    disturbances: &[Disturbance],
) {
    let mut database = bed.database().await;
    let query = "SELECT r.id, r.state, r.result, \
        (SELECT COUNT(*) FROM journal_steps s WHERE s.run = r.id) AS steps \
        FROM journal_runs r ORDER BY r.created_at";
    let rows = sqlx::query(query).fetch_all(&mut database).await.unwrap();
    assert_eq!(rows.len(), runs + 1);
    for row in &rows {
        let (id, state): (String, String) = (row.get("id"), row.get("state"));
        let steps: i64 = row.get("steps");
        assert_eq!((state.as_str(), steps), ("completed", STEPS), "{id}");
        let result: String = row.get("result");
        let result: Value = serde_json::from_str(&result).unwrap();
        let files = files_of(&mut database, &container_id(&result)).await;
        assert_eq!(files, expected, "{id} after {disturbances:?}");
    }
    let calls = bed.model.calls("script");
    let fewest = 3 * rows.len();
    let most = fewest + CLIENTS * disturbances.len();
    assert!((fewest..=most).contains(&calls), "{calls} of {fewest}");
}
