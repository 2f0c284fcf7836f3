//! Clients that leave while their skills are still being looked up or loaded: nothing
//! has begun by then, and nothing begins.
//!
//! The skills lie in a PostgreSQL whose tables the test holds locked, so that the
//! server stands still exactly there.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use futures_util::future::join_all;
use prowess_testkit::SkillFixture;
use prowess_testkit::postgres::PostgresServer;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};
use vendors::client::{new_request, path};
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

const VENDOR: Vendor = Vendor::Chat;
const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];

/// A skill for each client: who asks for the same one waits for the first who did.
struct Skills(Vec<String>);

impl Skills {
    async fn store(gateway: &TestGateway) -> Skills {
        let mut skills = Vec::new();
        for n in 0..CLIENTS.len() {
            let skill = SkillFixture::new(&format!("report-{n}"));
            skills.push(gateway.store(&skill).await);
        }
        Skills(skills)
    }

    /// Where each client asks for its skill, and how.
    fn requests(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let skills = CLIENTS.into_iter().zip(&self.0);
        skills.map(|(client, skill)| {
            let request = new_request(client, &VENDOR.model(0), true, &[skill]);
            (path(client), request)
        })
    }
}

/// All clients ask while a table is locked, and leave when the server waits for it.
async fn all_leave(gateway: &TestGateway, skills: &Skills, database: &str, lock: &'static str) {
    let mut holder = PgConnection::connect(database).await.unwrap();
    let mut held = holder.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *held).await.unwrap();
    let before = clients_gone(gateway).await;

    let requests: Vec<_> = skills.requests().collect();
    let asking = requests
        .iter()
        .map(|(path, request)| gateway.begin(path, request));
    let all_wait = async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let count = async |held: &mut PgConnection| -> i64 {
            let row = sqlx::query(waiting).fetch_one(held).await;
            row.unwrap().get(0)
        };
        while count(&mut held).await < 3 {}
    };
    tokio::select! {
        response = join_all(asking) => unreachable!("{lock}: {response:?}"),
        () = all_wait => {}
    }
    while clients_gone(gateway).await < before + 3 {
        tokio::task::yield_now().await;
    }
    held.rollback().await.unwrap();
}

/// How many requests the server has given up because their clients were gone: it notes
/// them after all of their work has been dropped.
async fn clients_gone(gateway: &TestGateway) -> u64 {
    let usage = gateway.get("/v1/usage").await.json();
    let models = usage["data"].as_array().unwrap().iter();
    models.map(|model| model["errors"].as_u64().unwrap()).sum()
}

#[test]
fn who_leaves_before_its_skills_are_known_has_started_nothing() {
    run(async {
        // Of its own: the locks of all of its databases are counted.
        let postgres = PostgresServer::start();
        let database = postgres.database();
        let gateway = TestGateway::open(1, &format!("[store]\nurl = '{database}'\n")).await;
        let skills = Skills::store(&gateway).await;
        // First which versions are meant is asked for, then their files are.
        for lock in [
            "LOCK TABLE skills IN ACCESS EXCLUSIVE MODE",
            "LOCK TABLE version_blobs IN ACCESS EXCLUSIVE MODE",
        ] {
            all_leave(&gateway, &skills, &database, lock).await;
        }
        let upstream = &gateway.upstreams[0];
        assert_eq!(upstream.connections(), 0, "no model was called");
        let containers = gateway.get("/v1/containers").await.json();
        assert_eq!(containers["data"], json!([]), "no session was made");

        for (path, request) in skills.requests() {
            upstream.respond(VENDOR.text_turn(true, "Here I am."));
            let response = gateway.post(path, &request).await;
            assert_eq!(response.status, 200, "{}", response.text);
            assert!(response.text.contains("Here I am."), "{}", response.text);
            gateway.record(&response.run.unwrap()).await;
        }
        assert_eq!(upstream.requests().await.len(), CLIENTS.len());
        let runs = gateway.get("/v1/runs").await.json();
        let runs = runs["data"].as_array().unwrap().iter();
        let ended: Vec<&Value> = runs.map(|run| &run["status"]).collect();
        assert_eq!(ended, ["completed"; 3], "the others never became runs");
    });
}
