//! Pages of PDF files: whose are drawn when, and what they take from their tenant. The programs
//! that draw them take as long as the file says.

use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream;
use prowess_engine::SandboxHandle;
use prowess_sandbox::{RuntimeSource, Sandbox, SandboxSettings};
use prowess_server::{SecretString, ServerSettings};
use prowess_store::{KeyScope, NewFile, TenantId};
use prowess_testkit::PdfPrograms;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::client::{ClientResponse, Server, TestDialect};

const OPEN_AI: TestDialect = TestDialect::OpenAi;
const MASTER: &str = "the-master-key-of-these-tests";
/// Pages of one tenant that are drawn at once or wait.
const PAGES_PER_TENANT: usize = 1 + 16;
/// Bytes of a file of which pages are drawn.
const MAX_PDF_BYTES: usize = 32 << 20;

/// A server with a sandbox.
struct Bed {
    server: Server,
    sandbox: Sandbox,
    _programs: PdfPrograms,
    _folder: TempDir,
}

/// A tenant with a key that may only read.
struct Reader {
    key: String,
    slow: String,
    quick: String,
}

impl Bed {
    async fn start(change: impl FnOnce(&mut SandboxSettings)) -> Bed {
        let programs = PdfPrograms::install();
        let folder = tempfile::tempdir().unwrap();
        let mut settings = SandboxSettings::new(folder.path());
        settings.allow_reduced = true;
        settings.warm = 0;
        settings.runtime = RuntimeSource::Folder(programs.root().into());
        change(&mut settings);
        let sandbox = Sandbox::open(settings).await.unwrap();
        let settings = ServerSettings {
            master_key: Some(SecretString::new(MASTER)),
            sandbox: SandboxHandle::ready(sandbox.clone()),
            ..ServerSettings::default()
        };
        Bed {
            server: Server::with(settings).await,
            sandbox,
            _programs: programs,
            _folder: folder,
        }
    }

    async fn reader(&self, tenant: &str) -> Reader {
        let key = self.server.key(tenant, &[KeyScope::Read]).await;
        let tenant = TenantId::new(tenant).unwrap();
        Reader {
            key,
            slow: store(&self.server, &tenant, &[PdfPrograms::SLOW]).await,
            quick: store(&self.server, &tenant, &[PdfPrograms::QUICK]).await,
        }
    }

    /// Asks for the page of a file.
    fn preview(
        &self,
        reader: &Reader,
        file: &str,
    ) -> impl Future<Output = ClientResponse> + Send + use<> {
        let path = format!("/v1/files/{file}/preview");
        self.server.get(OPEN_AI, &path).key(&reader.key).send()
    }
}

/// Stores a file, given in parts.
async fn store(server: &Server, tenant: &TenantId, parts: &[&[u8]]) -> String {
    let new = NewFile {
        name: "a.pdf",
        mime: "application/pdf",
        purpose: "user_data",
        scope: None,
        downloadable: true,
        expires_in: None,
        limit: 64 << 20,
    };
    let parts = parts.iter().map(|part| Ok(Bytes::copy_from_slice(part)));
    let parts: Vec<_> = parts.collect();
    let stored = server.app.store();
    let stored = stored.create_file(tenant, &new, stream::iter(parts)).await;
    stored.unwrap().id
}

fn assert_is_picture(page: &ClientResponse) {
    assert_eq!(page.status, StatusCode::OK, "{:?}", page.body);
    assert_eq!(page.header("content-type"), Some("image/png"));
}

#[tokio::test]
async fn slow_pages_of_some_tenants_do_not_keep_another_waiting() {
    let bed = Bed::start(|_| {}).await;
    let (many, one, quick) = (
        bed.reader("many").await,
        bed.reader("one").await,
        bed.reader("quick").await,
    );
    let mut running = bed.sandbox.running_commands();
    let mut waiting = JoinSet::new();
    for _ in 0..=PAGES_PER_TENANT {
        waiting.spawn(bed.preview(&many, &many.slow));
    }
    // One is drawn and the others wait, but for one.
    let refused = waiting.join_next().await.unwrap().unwrap();
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.code(), "previews-busy");
    assert_eq!(refused.header("retry-after"), Some("5"));
    running.wait_for(|running| *running >= 1).await.unwrap();
    waiting.spawn(bed.preview(&one, &one.slow));
    let drawn = *running.wait_for(|running| *running >= 2).await.unwrap();
    assert_eq!(drawn, 2);
    // No tenant has more than one drawn at a time.
    let page = tokio::select! {
        page = bed.preview(&quick, &quick.quick) => page,
        drawn = running.wait_for(|running| *running > 3) => panic!("{drawn:?} at once"),
    };
    assert_is_picture(&page);
    // All leave, and their places are free.
    waiting.shutdown().await;
    assert_is_picture(&bed.preview(&many, &many.quick).await);
    assert_is_picture(&bed.preview(&one, &one.quick).await);
}

#[tokio::test]
async fn the_page_of_a_client_that_leaves_is_not_drawn_to_its_end() {
    let bed = Bed::start(|_| {}).await;
    let reader = bed.reader("a").await;
    let mut running = bed.sandbox.running_commands();
    let request = tokio::spawn(bed.preview(&reader, &reader.slow));
    running.wait_for(|running| *running == 1).await.unwrap();
    request.abort();
    running.wait_for(|running| *running == 0).await.unwrap();
    assert_is_picture(&bed.preview(&reader, &reader.quick).await);
    // It was killed before its time was over, and its container is gone.
    let ended = bed.sandbox.statistics().commands;
    assert!(ended.contains(&("timeout", 0)), "{ended:?}");
    assert!(bed.sandbox.containers().is_empty());
}

#[tokio::test]
async fn a_page_takes_no_container_from_its_tenant() {
    // A further container of the tenant would take the place of its first.
    let bed = Bed::start(|settings| {
        settings.containers_per_tenant = 1;
        settings.evict_idle = Duration::ZERO;
    });
    let bed = bed.await;
    let reader = bed.reader("a").await;
    let key = bed.server.key("a", &[KeyScope::Use]).await;
    let call = bed.server.post(OPEN_AI, "/v1/containers").key(&key);
    let own = call.json(&json!({"name": "mine"})).await.ok();
    assert_is_picture(&bed.preview(&reader, &reader.quick).await);
    let listed = bed.server.get(OPEN_AI, "/v1/containers").key(&key);
    let listed = listed.send().await.ok();
    let listed = listed["data"].as_array().unwrap().iter();
    let ids: Vec<_> = listed.map(|container| &container["id"]).collect();
    assert_eq!(ids, [&own["id"]]);
}

#[tokio::test]
async fn pages_of_a_file_that_is_too_large_are_not_drawn() {
    let server = Server::new().await;
    let part = vec![b' '; 1 << 20];
    let mut parts: Vec<&[u8]> = vec![&part; MAX_PDF_BYTES >> 20];
    parts.push(b" ");
    let file = store(&server, &TenantId::default_tenant(), &parts).await;
    let path = format!("/v1/files/{file}/preview");
    let refused = server.get(OPEN_AI, &path).send().await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(refused.code(), "preview-too-large");
}
