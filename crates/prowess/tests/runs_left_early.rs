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
use prowess_testkit::postgres::Postgres;
use prowess_wire::Client;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};
use vendors::client::{asks, path};
use vendors::speak::Vendor;
use vendors::{Place, run};

const VENDOR: Vendor = Vendor::Chat;
const CLIENTS: [Client; 3] = [Client::Messages, Client::Chat, Client::Responses];

/// A skill for each client: who asks for the same one waits for the first who did.
struct Skills(Vec<String>);

impl Skills {
    async fn store(place: &Place) -> Skills {
        let mut skills = Vec::new();
        for n in 0..CLIENTS.len() {
            let skill = SkillFixture::new(&format!("report-{n}"));
            skills.push(place.store(&skill).await);
        }
        Skills(skills)
    }

    /// Where each client asks for its skill, and how.
    fn asked(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let skills = CLIENTS.into_iter().zip(&self.0);
        skills.map(|(client, skill)| {
            let asked = asks(client, &VENDOR.model(0), true, &[skill]);
            (path(client), asked)
        })
    }
}

/// All clients ask while a table is locked, and leave when the server waits for it.
async fn all_leave(place: &Place, skills: &Skills, database: &str, lock: &'static str) {
    let mut holder = PgConnection::connect(database).await.unwrap();
    let mut held = holder.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *held).await.unwrap();
    let before = clients_gone(place).await;

    let asked: Vec<_> = skills.asked().collect();
    let asking = asked.iter().map(|(path, asked)| place.begin(path, asked));
    let all_wait = async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let count = async |held: &mut PgConnection| -> i64 {
            let row = sqlx::query(waiting).fetch_one(held).await;
            row.unwrap().get(0)
        };
        while count(&mut held).await < 3 {}
    };
    tokio::select! {
        told = join_all(asking) => unreachable!("{lock}: {told:?}"),
        () = all_wait => {}
    }
    while clients_gone(place).await < before + 3 {
        tokio::task::yield_now().await;
    }
    held.rollback().await.unwrap();
}

/// How many requests the server has given up because their clients were gone: it notes
/// them after all of their work has been dropped.
async fn clients_gone(place: &Place) -> u64 {
    let usage = place.get("/v1/usage").await.json();
    let models = usage["data"].as_array().unwrap().iter();
    models.map(|model| model["errors"].as_u64().unwrap()).sum()
}

#[test]
fn who_leaves_before_its_skills_are_known_has_begun_nothing() {
    run(async {
        let postgres = Postgres::start();
        let database = postgres.database();
        let place = Place::open(1, &format!("[store]\nurl = '{database}'\n")).await;
        let skills = Skills::store(&place).await;
        // First which versions are meant is asked for, then their files are.
        for lock in [
            "LOCK TABLE skills IN ACCESS EXCLUSIVE MODE",
            "LOCK TABLE version_blobs IN ACCESS EXCLUSIVE MODE",
        ] {
            all_leave(&place, &skills, &database, lock).await;
        }
        let upstream = &place.lanes[0];
        assert_eq!(upstream.connections(), 0, "no model was called");
        let containers = place.get("/v1/containers").await.json();
        assert_eq!(containers["data"], json!([]), "no session was made");

        for (path, asked) in skills.asked() {
            upstream.answer(VENDOR.says(true, "Here I am."));
            let told = place.post(path, &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);
            assert!(told.text.contains("Here I am."), "{}", told.text);
            place.record(&told.run.unwrap()).await;
        }
        assert_eq!(upstream.requests().await.len(), CLIENTS.len());
        let runs = place.get("/v1/runs").await.json();
        let runs = runs["data"].as_array().unwrap().iter();
        let ended: Vec<&Value> = runs.map(|run| &run["status"]).collect();
        assert_eq!(ended, ["completed"; 3], "the others never became runs");
    });
}
