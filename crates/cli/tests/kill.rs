//! A server that is killed in the middle of uploads loses nothing it acknowledged,
//! and shows nothing it did not finish.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, Manifest};
use prowess_testkit::SkillFixture;
use prowess_testkit::postgres::TestPostgres;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use server::{MASTER, TestServer};

const ROUNDS: usize = 10;
const UPLOADS: usize = 200;
/// Uploads under way at any moment.
const AT_ONCE: usize = 8;

fn bundle(number: usize) -> Bundle {
    let skill = SkillFixture::new("survivor")
        .body(&format!("Number {number}.\n"))
        // One file that is kept with the rows, one that is not.
        .file("small.txt", format!("{number}"))
        .file("large.bin", number.to_le_bytes().repeat(20_000));
    Bundle::from_files(skill.files(), &BundleLimits::default()).unwrap()
}

#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    fn new(server: &TestServer) -> Client {
        Client {
            http: reqwest::Client::new(),
            base: format!("{}/openai/v1", server.url()),
        }
    }

    async fn upload(&self, path: &str, bundle: &Bundle) -> Option<Value> {
        let zip = bundle
            .to_zip(&ArchiveLayout::wrapped("survivor").unwrap())
            .unwrap();
        let form = Form::new().part("files", Part::bytes(zip).file_name("survivor.zip"));
        let request = self
            .http
            .post(format!("{}{path}", self.base))
            .bearer_auth(MASTER);
        let response = request.multipart(form).send().await.ok()?;
        // Only an answer that came whole is an acknowledgement.
        response.status().is_success().then_some(())?;
        response.json().await.ok()
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        let request = self
            .http
            .get(format!("{}{path}", self.base))
            .bearer_auth(MASTER);
        request.send().await.unwrap().error_for_status().unwrap()
    }
}

/// Uploads from several tasks until the server is gone, and gives what it
/// acknowledged: the number in each version, by the version.
async fn upload_until_killed(
    server: &mut TestServer,
    skill: &str,
    first: usize,
    kill_after: usize,
) -> BTreeMap<String, usize> {
    let client = Client::new(server);
    let next = Arc::new(AtomicUsize::new(first));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..AT_ONCE {
        let (client, next, sender) = (client.clone(), next.clone(), sender.clone());
        let path = format!("/skills/{skill}/versions");
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= first + UPLOADS {
                    return;
                }
                let Some(version) = client.upload(&path, &bundle(number)).await else {
                    return;
                };
                sender
                    .send((version["version"].as_str().unwrap().to_owned(), number))
                    .unwrap();
            }
        });
    }
    drop(sender);
    let mut acknowledged = BTreeMap::new();
    while let Some((version, number)) = receiver.recv().await {
        acknowledged.insert(version, number);
        if acknowledged.len() == kill_after {
            server.kill();
        }
    }
    acknowledged
}

/// Every version that is listed is whole, and every acknowledged one is listed.
async fn check(server: &TestServer, skill: &str, acknowledged: &BTreeMap<String, usize>) {
    let client = Client::new(server);
    let path = format!("/skills/{skill}/versions?limit=1000&order=asc");
    let list: Value = client.get(&path).await.json().await.unwrap();
    let listed: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["version"].as_str().unwrap())
        .collect();
    for version in acknowledged.keys() {
        assert!(
            listed.contains(&version.as_str()),
            "version {version} was acknowledged and is lost"
        );
    }
    for version in listed {
        let path = format!("/skills/{skill}/versions/{version}");
        let digest = client.get(&path).await.headers()["prowess-digest"].clone();
        let zip = client
            .get(&format!("{path}/content"))
            .await
            .bytes()
            .await
            .unwrap();
        let found = Bundle::from_zip(&zip, &BundleLimits::default()).unwrap();
        assert_eq!(
            digest,
            Manifest::from_bundle(&found).digest().to_string().as_str()
        );
        if let Some(number) = acknowledged.get(version) {
            let sent = Manifest::from_bundle(&bundle(*number));
            assert_eq!(Manifest::from_bundle(&found), sent, "version {version}");
        }
    }
}

async fn survive(variables: &[(&str, &str)]) {
    let mut server = TestServer::start(variables);
    for round in 0..ROUNDS {
        let first = round * UPLOADS;
        let made = Client::new(&server).upload("/skills", &bundle(first)).await;
        let skill = made.unwrap()["id"].as_str().unwrap().to_owned();
        // Earlier and later in the run of uploads.
        let kill_after = 5 + 15 * round;
        let acknowledged = upload_until_killed(&mut server, &skill, first, kill_after).await;
        assert!(acknowledged.len() >= kill_after);
        server.kill_and_restart(variables);
        check(&server, &skill, &acknowledged).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_sqlite() {
    survive(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_postgres() {
    let postgres = TestPostgres::start();
    survive(&[("PROWESS_STORE_URL", &postgres.database())]).await;
}
