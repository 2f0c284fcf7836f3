//! Pages drawn by the real programs, in the sandbox of one host and over a cluster.

use prowess_sandbox::{Sandbox, SandboxSettings, SharedSandboxes};
use prowess_store::{Store, StoreConfig, TenantId};
use prowess_testkit::PdfFixture;
use tempfile::TempDir;

use super::PdfPage;
use super::error::PdfPageError;
use super::png::dimensions;
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

/// Where commands run.
enum CommandPlace {
    OneHost,
    Cluster,
}

impl Bed {
    async fn new(place: CommandPlace) -> Self {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let store = Store::open(&StoreConfig::local(folders[0].path())).await;
        let store = store.unwrap();
        let mut settings = SandboxSettings::new(folders[1].path());
        settings.allow_reduced = true;
        settings.warm = 0;
        let (sandbox, cluster) = match place {
            CommandPlace::OneHost => (Sandbox::open(settings).await.unwrap().into(), None),
            CommandPlace::Cluster => {
                let started = OneWorker::start(store.clone(), folders[1].path(), settings).await;
                (started.sandboxes(), Some(started))
            }
        };
        let handle = SandboxHandle::ready(SharedSandboxes::clone(&sandbox));
        Bed {
            engine: Engine::new(store, EngineSettings::default(), handle),
            sandbox,
            tenant: TenantId::default_tenant(),
            _cluster: cluster,
            _folders: folders,
        }
    }

    /// Draws a page; whatever comes of it, no container is left.
    async fn draw(&self, pdf: Vec<u8>, number: u32) -> Result<PdfPage, PdfPageError> {
        let drawn = self.engine.draw_pdf_page(&self.tenant, pdf, number).await;
        let left = self.sandbox.containers_of_owner(self.tenant.as_str()).await;
        assert_eq!(left.unwrap().len(), 0);
        drawn
    }

    /// Why a page is not drawn.
    async fn refusal(&self, pdf: Vec<u8>, number: u32) -> String {
        match self.draw(pdf, number).await {
            Err(error) => error.to_string(),
            Ok(page) => panic!("{:?} of {}", dimensions(&page.png), page.pages),
        }
    }
}

/// Generates a test with the sandbox of one host, and one over a cluster.
macro_rules! on_one_host_and_over_a_cluster {
    ($($behaviour:ident,)+) => {
        mod on_one_host {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(super::Bed::new(super::CommandPlace::OneHost).await).await;
            })+
        }
        mod over_a_cluster {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(super::Bed::new(super::CommandPlace::Cluster).await).await;
            })+
        }
    };
}

on_one_host_and_over_a_cluster! {
    a_page_becomes_a_picture_of_bounded_size,
    a_file_that_lies_gives_a_reason,
}

async fn a_page_becomes_a_picture_of_bounded_size(bed: Bed) {
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

async fn a_file_that_lies_gives_a_reason(bed: Bed) {
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
