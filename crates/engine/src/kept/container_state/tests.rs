//! Real commands, a real store on both databases, and over a cluster: what is committed is what
//! a resumed run finds.

use std::sync::LazyLock;
use std::time::Duration;

use prowess_sandbox::{Command, Execution, Policy, Sandbox, SandboxSettings};
use prowess_store::{
    AppendOutcome, BeginOutcome, ContainerRecord, Database, EndOutcome, NewJournalRun, NewStep,
    RunResult, RunState, StepChanges, StepKind, StoreConfig,
};
use prowess_testkit::postgres::TestPostgres;
use prowess_testkit::s3::TestS3;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::containers::one_worker::OneWorker;
use crate::containers::one_worker::left_out::is_left_out;

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

const LEASE: Duration = Duration::from_secs(600);

/// A store and a sandbox with one container.
struct Bed {
    store: Store,
    sandbox: SharedSandboxes,
    tenant: TenantId,
    container: String,
    /// If the container is in a cluster: that cluster, and the storage of its contents.
    cluster: Option<(OneWorker, TestS3)>,
    folders: [TempDir; 2],
}

impl Bed {
    /// With the sandbox of one host.
    async fn new(database: Database) -> Self {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let mut config = store_config(&folders[0]);
        if database == Database::Postgres {
            config.database = POSTGRES.database();
        }
        let store = Store::open(&config).await.unwrap();
        let sandbox = Sandbox::open(sandbox_settings(&folders[1])).await;
        Bed::with(store, sandbox.unwrap().into(), folders, None).await
    }

    /// With a cluster, on the kinds of database and storage that clusters have.
    async fn over_a_cluster() -> Self {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let mut config = store_config(&folders[0]);
        config.database = POSTGRES.database();
        let s3 = TestS3::start();
        s3.bucket("contents");
        config.blobs = "s3://contents/some".to_owned();
        let options = [
            ("aws_endpoint", s3.endpoint()),
            ("aws_allow_http", "true".to_owned()),
            ("aws_region", "us-east-1".to_owned()),
            ("aws_access_key_id", "id".to_owned()),
            ("aws_secret_access_key", "secret".to_owned()),
        ];
        config.blob_options = options.map(|(name, value)| (name.to_owned(), value)).into();
        let store = Store::open(&config).await.unwrap();
        let settings = sandbox_settings(&folders[1]);
        let cluster = OneWorker::start(store.clone(), folders[1].path(), settings).await;
        Bed::with(store, cluster.sandboxes(), folders, Some((cluster, s3))).await
    }

    async fn with(
        store: Store,
        sandbox: SharedSandboxes,
        folders: [TempDir; 2],
        cluster: Option<(OneWorker, TestS3)>,
    ) -> Self {
        let tenant = TenantId::default_tenant();
        let spec = ContainerSpec::default();
        let container = sandbox.create(tenant.as_str(), spec).await.unwrap();
        let record = ContainerRecord {
            id: container.clone(),
            upstream: None,
            skills: Value::Null,
        };
        store.save_container(&tenant, &record).await.unwrap();
        Bed {
            store,
            sandbox,
            tenant,
            container,
            cluster,
            folders,
        }
    }

    async fn begin_run(&self) -> RunLease {
        let id = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &id,
            api_key: None,
            dialect: "responses",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: b"{}",
        };
        match self.store.begin_run(&self.tenant, &new, "a", LEASE).await {
            Ok(BeginOutcome::Started(lease)) => lease,
            other => panic!("{other:?}"),
        }
    }

    /// The server that had the run is dead: another one takes it over.
    async fn take_over(&self, lease: &RunLease) -> RunLease {
        assert!(self.store.release_lease(lease).await.unwrap());
        let claimed = self
            .store
            .claim_runs("b", LEASE, 1, 1, &[], &[])
            .await
            .unwrap();
        assert_eq!(claimed[0].lease.run, lease.run);
        claimed[0].lease.clone()
    }

    async fn bash(&self, line: &str) -> String {
        let execution = Execution {
            command: Command::Bash(line.to_owned()),
            ..Execution::default()
        };
        let (owner, id) = (self.tenant.as_str(), &self.container);
        let report = self.sandbox.exec(owner, id, execution).await.unwrap();
        assert_eq!(report.stderr.text, "", "{line}");
        report.stdout.text
    }

    async fn open(&self, lease: &RunLease) -> Result<ContainerState, RunError> {
        ContainerState::open_with(
            &self.store,
            &self.sandbox,
            lease,
            &self.container,
            ContainerRetry::until(Instant::now()),
        )
        .await
    }

    async fn restore(&self, lease: &RunLease) -> ContainerState {
        let (store, sandbox) = (&self.store, &self.sandbox);
        let policy = Policy::default();
        let restored = ContainerState::restore(store, sandbox, lease, &self.container, policy);
        restored.await.unwrap()
    }

    /// Commits what has changed, and returns the number of contents that had to be stored.
    async fn commit(&self, lease: &mut RunLease, state: &mut ContainerState) -> Option<usize> {
        let staged = state.stage_changes(&self.store).await;
        let (contents, container) = staged.unwrap();
        container.as_ref()?;
        let count = contents.len();
        let step = NewStep {
            kind: StepKind::ToolResult,
            call: Some("call_1"),
            body: "{}",
        };
        let changes = StepChanges {
            contents,
            container,
            ..StepChanges::default()
        };
        let appended = self.store.append_step(lease, &step, changes, LEASE).await;
        assert_eq!(appended.unwrap(), AppendOutcome::Committed);
        state.committed();
        Some(count)
    }
}

fn store_config(folder: &TempDir) -> StoreConfig {
    let mut config = StoreConfig::local(folder.path());
    config.inline_bytes = 1_000;
    config
}

fn sandbox_settings(folder: &TempDir) -> SandboxSettings {
    let mut settings = SandboxSettings::new(folder.path());
    settings.allow_reduced = true;
    settings.warm = 0;
    settings
}

/// Generates a test for each database, and one over a cluster.
macro_rules! on_both_databases_and_over_a_cluster {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $behaviour() {
                let bed = super::Bed::new(prowess_store::Database::Sqlite).await;
                super::$behaviour(bed).await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $behaviour() {
                let bed = super::Bed::new(prowess_store::Database::Postgres).await;
                super::$behaviour(bed).await;
            })+
        }
        mod over_a_cluster {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $behaviour() {
                if super::is_left_out(stringify!($behaviour)) {
                    return;
                }
                let bed = super::Bed::over_a_cluster().await;
                super::$behaviour(bed).await;
            })+
        }
    };
}

on_both_databases_and_over_a_cluster! {
    a_resumed_run_finds_the_files_of_its_last_committed_step,
    files_that_others_changed_are_part_of_the_next_change,
    a_container_that_is_gone_comes_back_with_its_files,
    a_container_is_held_by_one_run_at_a_time,
    a_thousand_small_files_and_a_large_one_are_committed_and_restored,
    damaged_content_is_an_error_of_the_store,
}

const LIST: &str = "find . -mindepth 1 -printf '%P %y %m %l\\n' | sort; cat log";

async fn a_resumed_run_finds_the_files_of_its_last_committed_step(bed: Bed) {
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    assert_eq!(bed.commit(&mut lease, &mut state).await, None);
    bed.bash(
        "echo 1 >> log; mkdir -p empty deep; echo x > deep/x; chmod 755 deep/x; \
         ln -s /etc/passwd link; echo same > a; echo same > b",
    )
    .await;
    // Content that two files share is stored once.
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(3));
    assert_eq!(bed.commit(&mut lease, &mut state).await, None);
    bed.bash("echo 2 >> log; rm b").await;
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(1));
    assert_eq!(state.generation, 2);
    let committed = bed.bash(LIST).await;

    // The command of a step that is never committed, once with its content staged.
    for line in [
        "echo 3 >> log; rm -r deep empty; echo x > empty; rm link; mkdir link; chmod 600 a",
        "echo 3 >> log; rm -r *; echo lost > lost",
    ] {
        bed.bash(line).await;
        let staged = state.stage_changes(&bed.store).await;
        assert!(staged.unwrap().1.is_some());
        lease = bed.take_over(&lease).await;
        state = bed.restore(&lease).await;
        assert_eq!(bed.bash(LIST).await, committed);
        assert_eq!(bed.commit(&mut lease, &mut state).await, None);
    }
    // It goes on from there.
    bed.bash("echo 3 >> log").await;
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(1));
    assert_eq!(state.generation, 3);
    let lease = bed.take_over(&lease).await;
    bed.restore(&lease).await;
    assert_eq!(bed.bash("cat log").await, "1\n2\n3\n");
}

async fn files_that_others_changed_are_part_of_the_next_change(bed: Bed) {
    bed.bash("echo uploaded > in; echo 1 > log").await;
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    // In a cluster, what others change is committed at once.
    let new = bed.cluster.is_none().then_some(2);
    assert_eq!(bed.commit(&mut lease, &mut state).await, new);
    bed.bash("rm in; echo 2 > log").await;
    let lease = bed.take_over(&lease).await;
    bed.restore(&lease).await;
    assert_eq!(bed.bash("cat in log").await, "uploaded\n1\n");
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let ended = bed.store.end_run(&lease, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);

    // After the run, others change them again, and another run begins.
    bed.bash("rm in; echo 3 > log").await;
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    bed.bash("echo 4 >> log").await;
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(1));
    let lease = bed.take_over(&lease).await;
    bed.bash("rm log").await;
    bed.restore(&lease).await;
    assert_eq!(bed.bash("ls; cat log").await, "log\n3\n4\n");
}

async fn a_container_that_is_gone_comes_back_with_its_files(bed: Bed) {
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    bed.bash("mkdir deep; echo 1 > log; chmod 755 log; ln -s log deep/link")
        .await;
    bed.commit(&mut lease, &mut state).await;
    let committed = bed.bash(LIST).await;
    let owner = bed.tenant.as_str();
    bed.sandbox.destroy(owner, &bed.container).await.unwrap();
    let mut lease = bed.take_over(&lease).await;
    let mut state = bed.restore(&lease).await;
    assert_eq!(bed.bash(LIST).await, committed);
    bed.bash("echo 2 >> log").await;
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(1));
}

async fn a_container_is_held_by_one_run_at_a_time(bed: Bed) {
    let (one, two) = (bed.begin_run().await, bed.begin_run().await);
    let first = bed.open(&one).await.unwrap();
    assert_eq!(first.id(), bed.container);
    let busy = bed.open(&two).await.unwrap_err();
    assert_eq!(busy.code(), "container-busy");
    // It waits until the first one ends.
    let waits = ContainerState::open(&bed.store, &bed.sandbox, &two, &bed.container);
    let ends = async {
        let result = RunResult {
            state: RunState::Completed,
            body: "{}",
            events: None,
        };
        bed.store.end_run(&one, &result, &[]).await.unwrap()
    };
    let (second, ended) = tokio::join!(waits, ends);
    assert_eq!(ended, EndOutcome::Ended);
    assert_eq!(second.unwrap().generation, 0);
    let other = TenantId::new("other").unwrap();
    bed.store.ensure_tenant(&other, "Other").await.unwrap();
    let foreign = RunLease {
        tenant: other,
        ..two
    };
    let error = bed.open(&foreign).await.unwrap_err();
    assert_eq!(error.code(), "container-not-found");
}

async fn a_thousand_small_files_and_a_large_one_are_committed_and_restored(bed: Bed) {
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    // Several parts long, and not a whole number of them.
    bed.bash("for n in $(seq 1000); do echo $n > $n; done; seq 1000000 > large")
        .await;
    assert_eq!(bed.commit(&mut lease, &mut state).await, Some(1001));
    let sum = "cat $(ls | sort -n) | sha256sum";
    let before = bed.bash(sum).await;
    bed.bash("rm *; echo lost > large").await;
    let lease = bed.take_over(&lease).await;
    bed.restore(&lease).await;
    assert_eq!(bed.bash(sum).await, before);
}

async fn damaged_content_is_an_error_of_the_store(bed: Bed) {
    let mut lease = bed.begin_run().await;
    let mut state = bed.open(&lease).await.unwrap();
    bed.bash("seq 10000 > large").await;
    bed.commit(&mut lease, &mut state).await;
    bed.bash("rm large").await;
    let mut folders = vec![bed.folders[0].path().join("blobs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                std::fs::write(path, "damaged").unwrap();
            }
        }
    }
    let lease = bed.take_over(&lease).await;
    let (store, sandbox) = (&bed.store, &bed.sandbox);
    let policy = Policy::default();
    let restored = ContainerState::restore(store, sandbox, &lease, &bed.container, policy);
    assert_eq!(restored.await.unwrap_err().code(), "content-damaged");
    assert_eq!(bed.bash("ls").await, "");
}
