//! Concurrent uploads and downloads. A tenant may use half of the permits, so that its slow
//! transfers do not block others; of downloads without a key, a client's network may. Of lists,
//! searches and reads of stored texts a tenant has a quarter, and a network of clients without a key.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream;
use prowess_store::TenantId;

use super::spool_shares::SpoolShares;
use crate::error::HttpError;
use crate::fair_pool::{FairPool, Owner, PoolBounds, PoolPermit};
use crate::settings::ServerSettings;

/// Requests of one tenant that wait for a permit.
const MAX_WAITING_PER_TENANT: usize = 64;
/// Stored texts that are read at once, before their bytes are counted, and those of one tenant.
/// Most take no time, so many may wait.
const STORED_READS: usize = 32;
const STORED_READS_PER_TENANT: usize = 8;
const MAX_WAITING_READS: usize = 4_096;
/// The same of lists and searches, which keep the few connections to the database busy.
const LISTS: usize = 64;
const LISTS_PER_TENANT: usize = 16;
const LIST_BOUNDS: PoolBounds = PoolBounds {
    total: LISTS,
    per_owner: LISTS_PER_TENANT,
    waiting_per_owner: MAX_WAITING_READS,
};
/// Files are spooled to disk, so more of them may be uploaded at once.
const FILES_PER_SKILL: usize = 4;
/// Retry delay sent to clients.
const RETRY_SECONDS: u64 = 10;
/// A body that holds a permit is sent in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// Permits for uploads and downloads.
pub(crate) struct Transfers {
    skills: FairPool<TenantId>,
    files: FairPool<TenantId>,
    archives: FairPool<TenantId>,
    stored: FairPool<TenantId>,
    lists: FairPool<TenantId>,
    /// Of clients without a key, by their networks.
    public: FairPool<Option<IpAddr>>,
    public_lists: FairPool<Option<IpAddr>>,
    spools: SpoolShares,
    wait: Duration,
}

/// One permit; released on drop.
pub(crate) type TransferPermit = PoolPermit<TenantId>;
/// One permit of a client without a key; released on drop.
pub(crate) type PublicPermit = PoolPermit<Option<IpAddr>>;

/// A body that holds a permit until the client has read it.
pub(crate) fn body_with_permit<P: Send + 'static>(bytes: Bytes, permit: P) -> Body {
    let next = |(mut bytes, permit): (Bytes, P)| async move {
        let chunk = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        (!chunk.is_empty()).then_some((Ok::<_, Infallible>(chunk), (bytes, permit)))
    };
    let chunks = stream::unfold((bytes, permit), next);
    Body::from_stream(chunks)
}

impl Transfers {
    pub(crate) fn new(settings: &ServerSettings) -> Transfers {
        let skills = settings.uploads.max(1);
        let files = skills.saturating_mul(FILES_PER_SKILL);
        Transfers {
            skills: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            files: FairPool::new(PoolBounds::half_per_owner(files, MAX_WAITING_PER_TENANT)),
            archives: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            stored: FairPool::new(PoolBounds {
                total: STORED_READS,
                per_owner: STORED_READS_PER_TENANT,
                waiting_per_owner: MAX_WAITING_READS,
            }),
            lists: FairPool::new(LIST_BOUNDS),
            public: FairPool::new(PoolBounds::half_per_owner(skills, MAX_WAITING_PER_TENANT)),
            public_lists: FairPool::new(LIST_BOUNDS),
            spools: SpoolShares::default(),
            wait: settings.upload_wait,
        }
    }

    /// Whether two settings give the same permits.
    pub(crate) fn has_same_bounds(one: &ServerSettings, other: &ServerSettings) -> bool {
        (one.uploads, one.upload_wait) == (other.uploads, other.upload_wait)
    }

    /// The disk that uploads in progress take.
    pub(crate) fn spools(&self) -> &SpoolShares {
        &self.spools
    }

    /// A permit to upload a skill.
    pub(crate) async fn acquire_skill_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.skills, tenant).await
    }

    /// A permit to upload a file.
    pub(crate) async fn acquire_file_upload(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.files, tenant).await
    }

    /// A permit to download a skill, which is in memory until it was sent.
    pub(crate) async fn acquire_skill_download(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.archives, tenant).await
    }

    /// The same for a client of this network that needs no key.
    pub(crate) async fn acquire_public_download(
        &self,
        network: Option<IpAddr>,
    ) -> Result<PublicPermit, HttpError> {
        self.acquire(&self.public, &network).await
    }

    /// A permit to read stored texts of any size into memory, until they are counted there.
    pub(crate) async fn acquire_stored_read(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.stored, tenant).await
    }

    /// A permit to list or search what is stored, until the store has answered.
    pub(crate) async fn acquire_list(
        &self,
        tenant: &TenantId,
    ) -> Result<TransferPermit, HttpError> {
        self.acquire(&self.lists, tenant).await
    }

    /// A permit to look for public skills without a key. Those who have none share with one another:
    /// they take nothing from the tenant whose skills these are.
    pub(crate) async fn acquire_public_list(
        &self,
        network: Option<IpAddr>,
    ) -> Result<PublicPermit, HttpError> {
        self.acquire(&self.public_lists, &network).await
    }

    async fn acquire<O: Owner>(
        &self,
        pool: &FairPool<O>,
        owner: &O,
    ) -> Result<PoolPermit<O>, HttpError> {
        match tokio::time::timeout(self.wait, pool.acquire(owner)).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy_error()),
        }
    }
}

fn busy_error() -> HttpError {
    HttpError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "transfers-busy",
        "too many concurrent uploads or downloads; send fewer at once, and try again shortly",
    )
    .retry_after(RETRY_SECONDS)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use futures_util::FutureExt;
    use prowess_store::{Store, StoreConfig};
    use tower::ServiceExt;

    use super::*;
    use crate::app::App;

    /// What lists or searches.
    const LISTING: [&str; 12] = [
        "/v1/skills",
        "/v1/skills?query=pdf",
        "/v1/skills/search?query=pdf",
        "/v1/skills/overlap",
        "/v1/skills/usage",
        "/v1/files",
        "/v1/runs",
        "/v1/usage",
        "/v1/admin/audit",
        "/v1/admin/keys",
        "/v1/batches",
        "/v1/messages/batches",
    ];
    /// What reads stored texts.
    const READING: [&str; 7] = [
        "/v1/chat/completions",
        "/v1/chat/completions/chatcmpl-1",
        "/v1/chat/completions/chatcmpl-1/messages",
        "/v1/responses/resp_1",
        "/v1/responses/resp_1/input_items",
        "/v1/conversations/conv_1/items",
        "/v1/runs/run_1",
    ];

    async fn status(app: &App, path: &str) -> StatusCode {
        let request = Request::get(path).header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        app.service().oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn one_tenant_never_has_all_lists_and_reads_of_stored_texts() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            upload_wait: Duration::ZERO,
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let (own, other) = (TenantId::default_tenant(), TenantId::new("other").unwrap());
        let transfers = app.transfers();
        let (mut lists, mut reads) = (Vec::new(), Vec::new());
        for _ in 0..LISTS_PER_TENANT {
            lists.push(transfers.acquire_list(&own).await.unwrap());
        }
        for _ in 0..STORED_READS_PER_TENANT {
            reads.push(transfers.acquire_stored_read(&own).await.unwrap());
        }
        for path in LISTING.into_iter().chain(READING) {
            let refused = StatusCode::TOO_MANY_REQUESTS;
            assert_eq!(status(&app, path).await, refused, "{path}");
        }
        // Also a list, but without a sandbox it only fails, so it is not in the lists above.
        let files = status(&app, "/v1/containers/container_1/files").await;
        assert_eq!(files, StatusCode::TOO_MANY_REQUESTS);
        assert!(transfers.acquire_list(&other).await.is_ok());
        assert!(transfers.acquire_stored_read(&other).await.is_ok());
        drop((lists, reads));
        for path in LISTING {
            assert_eq!(status(&app, path).await, StatusCode::OK, "{path}");
        }
    }

    #[tokio::test]
    async fn who_reads_the_public_index_takes_nothing_from_its_tenant() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            upload_wait: Duration::ZERO,
            index_tenant: Some(TenantId::default_tenant()),
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let public = [
            "/.well-known/agent-skills/index.json",
            "/.well-known/skills/index.json",
        ];
        let mut readers = Vec::new();
        for _ in 0..LISTS_PER_TENANT {
            let permit = app.transfers().acquire_public_list(None).await;
            readers.push(permit.unwrap());
        }
        for path in public {
            let refused = StatusCode::TOO_MANY_REQUESTS;
            assert_eq!(status(&app, path).await, refused, "{path}");
        }
        assert_eq!(status(&app, "/v1/skills").await, StatusCode::OK);
        drop(readers);
        for path in public {
            assert_eq!(status(&app, path).await, StatusCode::OK, "{path}");
        }
    }

    #[tokio::test]
    async fn files_that_are_read_over_mcp_are_downloads() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            uploads: 2,
            upload_wait: Duration::ZERO,
            ..ServerSettings::default()
        };
        let app = App::new(store.unwrap(), settings);
        let tenant = TenantId::default_tenant();
        let call = async |method: &str| {
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":"skill://a/b"}}}}"#
            );
            let request = Request::post("/mcp")
                .header("host", "localhost")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream");
            let request = request.body(Body::from(message)).unwrap();
            app.service().oneshot(request).await.unwrap()
        };
        let busy = StatusCode::TOO_MANY_REQUESTS;
        // The tenant's half.
        let unread = call("resources/read").await;
        assert_ne!(unread.status(), busy);
        assert_eq!(call("resources/read").await.status(), busy);
        assert_ne!(call("ping").await.status(), busy);
        let other = TenantId::new("other").unwrap();
        assert!(app.transfers().acquire_skill_download(&other).await.is_ok());
        drop(unread);
        assert!(
            app.transfers()
                .acquire_skill_download(&tenant)
                .await
                .is_ok()
        );
    }

    #[test]
    fn an_upload_whose_client_has_left_counts_until_its_check_has_ended() {
        // The only thread for checks is busy, so the check does not end before the test says so.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&StoreConfig::local(folder.path())).await;
            let settings = ServerSettings {
                uploads: 1,
                upload_wait: Duration::ZERO,
                ..ServerSettings::default()
            };
            let app = App::new(store.unwrap(), settings);
            let tenant = TenantId::default_tenant();
            let (release, held) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || held.recv());
            let form = "--x\r\ncontent-disposition: form-data; name=\"files[]\"; \
                filename=\"SKILL.md\"\r\n\r\n---\nname: a\ndescription: A.\n---\nA.\r\n--x--\r\n";
            let request = Request::post("/v1/skills")
                .header("host", "localhost")
                .header("content-type", "multipart/form-data; boundary=x")
                .body(Body::from(form))
                .unwrap();
            let mut upload = Box::pin(app.service().oneshot(request));
            for _ in 0..100 {
                assert!((&mut upload).now_or_never().is_none());
                tokio::task::yield_now().await;
            }
            drop(upload);
            let next = app.transfers().acquire_skill_upload(&tenant).await;
            assert!(next.is_err(), "its check has not ended");
            drop(release);
            assert!(busy.await.is_ok());
            // It runs after the check.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            let next = app.transfers().acquire_skill_upload(&tenant).await;
            assert!(next.is_ok());
        });
    }
}
