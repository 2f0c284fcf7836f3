//! Pages drawn by the real programs and by slow ones, in the sandbox of one host and over a
//! cluster.

use std::time::Duration;

use prowess_sandbox::{ContainerSpec, RuntimeSource, SandboxSettings, SharedSandboxes};
use prowess_store::{Store, StoreConfig, TenantId};
use prowess_testkit::{PdfFixture, PdfPrograms};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::PdfPage;
use super::error::PdfPageError;
use super::png::dimensions;
use crate::containers::command_place::{CommandPlace, on_one_host_and_over_a_cluster};
use crate::containers::one_worker::OneWorker;
use crate::containers::sandbox_handle::SandboxHandle;
use crate::engine::Engine;
use crate::settings::EngineSettings;

struct Bed {
    engine: Engine,
    sandbox: SharedSandboxes,
    tenant: TenantId,
    _cluster: Option<OneWorker>,
    _folders: [TempDir; 2],
}

impl Bed {
    async fn new(place: CommandPlace, change: impl FnOnce(&mut SandboxSettings)) -> Self {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = Store::open(&StoreConfig::local(folders[0].path())).await;
        let store = store.unwrap();
        let (sandbox, cluster) = place.open(&store, folders[1].path(), change).await;
        let handle = SandboxHandle::ready(SharedSandboxes::clone(&sandbox));
        Bed {
            engine: Engine::new(store, EngineSettings::default(), handle),
            sandbox,
            tenant: TenantId::default_tenant(),
            _cluster: cluster,
            _folders: folders,
        }
    }

    /// Draws a page, however long it takes.
    async fn draw(&self, pdf: Vec<u8>, number: u32) -> Result<PdfPage, PdfPageError> {
        let never = std::future::pending();
        let drawing = self.engine.draw_pdf_page(&self.tenant, pdf, number, never);
        drawing.await
    }

    /// Why a page is not drawn.
    async fn refusal(&self, pdf: Vec<u8>, number: u32) -> String {
        match self.draw(pdf, number).await {
            Err(error) => error.to_string(),
            Ok(page) => panic!("{:?} of {}", dimensions(&page.png), page.pages),
        }
    }

    /// The ids of all containers of the tenant.
    async fn containers(&self) -> Vec<String> {
        let listed = self.sandbox.containers_of_owner(self.tenant.as_str()).await;
        listed.unwrap().into_iter().map(|one| one.id).collect()
    }
}

on_one_host_and_over_a_cluster! {
    a_page_becomes_a_picture_of_bounded_size,
    a_file_that_lies_gives_a_reason,
    a_drawing_is_no_container_of_its_tenant_and_ends_when_it_is_given_up,
}

async fn a_page_becomes_a_picture_of_bounded_size(place: CommandPlace) {
    let bed = Bed::new(place, |_| {}).await;
    let file = PdfFixture::new(&["1 0 0", "0 0 1"]);
    let first = bed.draw(file.bytes(), 1).await.unwrap();
    assert_eq!(first.pages, 2);
    assert_eq!(dimensions(&first.png), Some((990, 1400)));
    let second = bed.draw(file.bytes(), 2).await.unwrap();
    assert_ne!(first.png, second.png);
    // Fifty kilometres wide: the picture is as large as any other.
    let huge = file.page_size("144000000 144000000").bytes();
    let huge = bed.draw(huge, 1).await.unwrap();
    assert_eq!(dimensions(&huge.png), Some((1400, 1400)));
}

async fn a_file_that_lies_gives_a_reason(place: CommandPlace) {
    let bed = Bed::new(place, |_| {}).await;
    let file = PdfFixture::new(&["1 0 0"]);
    let missing = bed.refusal(file.bytes(), 2).await;
    assert_eq!(missing, "the PDF file has no page 2; its last one is 1");
    let many = file.clone().claimed_pages(1_000_000_000).bytes();
    let many = bed.refusal(many, 999_999_999).await;
    assert!(many.contains("cannot be drawn: "), "{many}");
    let encrypted = bed.refusal(file.encrypted().bytes(), 1).await;
    assert!(encrypted.contains("Incorrect password"), "{encrypted}");
    let garbage = bed
        .refusal(b"%PDF-1.7\n\x1b[31mgarbage\n".to_vec(), 1)
        .await;
    assert!(garbage.contains("Syntax Error: "), "{garbage}");
    assert!(!garbage.contains(char::is_control), "{garbage:?}");
}

async fn a_drawing_is_no_container_of_its_tenant_and_ends_when_it_is_given_up(place: CommandPlace) {
    let programs = PdfPrograms::install();
    // The tenant has as many containers as it may, and each may be evicted for a new one.
    let bed = Bed::new(place, |settings| {
        settings.runtime = RuntimeSource::Folder(programs.root().into());
        settings.containers_per_tenant = 1;
        settings.evict_idle = Duration::ZERO;
    });
    let bed = bed.await;
    let (sandbox, owner) = (&bed.sandbox, bed.tenant.as_str());
    let own = sandbox.create(owner, ContainerSpec::default()).await;
    let own = own.unwrap();
    let put = sandbox.put(owner, &own, "mine", b"mine".to_vec()).await;
    put.unwrap();

    let (give_up, given_up) = oneshot::channel::<()>();
    let given_up = async {
        let _ = given_up.await;
    };
    let slow = PdfPrograms::SLOW.to_vec();
    let drawing = bed.engine.draw_pdf_page(&bed.tenant, slow, 1, given_up);
    let mut running = sandbox.running_commands();
    let watching = async {
        running.wait_for(|running| *running == 1).await.unwrap();
        assert_eq!(bed.containers().await, [own.as_str()]);
        give_up.send(()).unwrap();
    };
    let (drawn, ()) = tokio::join!(drawing, watching);
    let is_given_up = matches!(drawn, Err(PdfPageError::GivenUp { number: 1 }));
    assert!(is_given_up, "{drawn:?}");
    running.wait_for(|running| *running == 0).await.unwrap();

    let page = bed.draw(PdfPrograms::QUICK.to_vec(), 1).await.unwrap();
    assert_eq!(page.pages, 1);
    assert_eq!(bed.containers().await, [own.as_str()]);
    assert!(sandbox.get(owner, &own, "mine").await.is_ok());
}
