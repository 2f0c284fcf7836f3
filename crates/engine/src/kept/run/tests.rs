//! What a kept run does with its sandbox, of one host or of a cluster: commands that are made
//! again have the same ids, and their changes are the run's to commit.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use prowess_provider::config::{ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions};
use prowess_provider::{ClientCredentials, Providers};
use prowess_sandbox::{Sandboxes as _, SharedSandboxes, Snapshot, SnapshotEntry};
use prowess_store::{
    BeginOutcome, Error as StoreError, HoldOutcome, LeaseStatus, NewFile, NewJournalRun, Store,
    StoreConfig, TenantId,
};
use prowess_testkit::postgres::PostgresServer;
use prowess_testkit::tcp_proxy::TcpProxy;
use prowess_wire::{ClientDialect, read_request};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::recording_sandboxes::{Recorded, RecordingSandboxes};
use super::*;
use crate::containers::command_place::{CommandPlace, on_one_host_and_over_a_cluster};
use crate::containers::one_worker::OneWorker;
use crate::containers::sandbox_handle::SandboxHandle;
use crate::kept::container_state::to_snapshot_entry;
use crate::kept::step_record::FORMAT;
use crate::settings::{EngineSettings, RerunPolicy};

const LEASE: Duration = Duration::from_secs(600);

/// Two commands at once, then one, then the end.
const SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [
    { name = "bash_code_execution", input = { command = "echo one > one" } },
    { name = "bash_code_execution", input = { command = "echo two > two" } },
]

[[step]]
when.turn = 2
calls = [{ name = "bash_code_execution", input = { command = "cat one two > three" } }]

[[step]]
text = "Done."
"#;

struct Bed {
    store: Store,
    engine: Engine,
    sandbox: Arc<RecordingSandboxes>,
    providers: Providers,
    tenant: TenantId,
    cluster: Option<OneWorker>,
    _folders: [TempDir; 2],
}

impl Bed {
    async fn new(place: CommandPlace) -> Self {
        Bed::on(place, None).await
    }

    /// On this database, or on one of its own.
    async fn on(place: CommandPlace, database: Option<String>) -> Self {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let mut config = StoreConfig::local(folders[0].path());
        if let Some(database) = database {
            config.database = database;
        }
        let store = Store::open(&config).await.unwrap();
        let (sandbox, cluster) = place.open(&store, folders[1].path(), |_| {}).await;
        let sandbox = RecordingSandboxes::new(sandbox);
        let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
        let providers = Providers::new(ProvidersConfig {
            providers: vec![ProviderConfig::new("stage", script)],
            ..ProvidersConfig::default()
        });
        let shared: SharedSandboxes = Arc::clone(&sandbox) as SharedSandboxes;
        let handle = SandboxHandle::ready(shared);
        Bed {
            engine: Engine::new(store.clone(), EngineSettings::default(), handle),
            store,
            sandbox,
            providers: providers.unwrap(),
            tenant: TenantId::default_tenant(),
            cluster,
            _folders: folders,
        }
    }

    async fn begin(&self) -> RunLease {
        let id = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &id,
            api_key: None,
            dialect: "messages",
            model: "stage/hero",
            kept: true,
            format: FORMAT,
            idempotency_key: None,
            request_digest: "d",
            request: b"{}",
        };
        match self.store.begin_run(&self.tenant, &new, "a", LEASE).await {
            Ok(BeginOutcome::Started(lease)) => lease,
            other => panic!("{other:?}"),
        }
    }

    /// Another server takes over the run of one that has died.
    async fn take_over(&self) -> RunLease {
        let runs = self.store.claim_runs("b", LEASE, FORMAT, 1, &[], &[]).await;
        runs.unwrap().remove(0).lease
    }

    fn run_request(&self) -> RunRequest {
        self.request_with(json!({}), json!("Go on."))
    }

    /// A request with these fields more, and this content of its message.
    fn request_with(&self, fields: Value, content: Value) -> RunRequest {
        let mut body = json!({
            "model": "stage/hero",
            "max_tokens": 1000,
            "messages": [{"role": "user", "content": content}],
            "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        body.as_object_mut().unwrap().extend(fields);
        let client = ClientDialect::Messages;
        let request = read_request(client, body.to_string().as_bytes()).unwrap();
        RunRequest {
            tenant: self.tenant.clone(),
            client,
            route: self.providers.route(&request.model).unwrap(),
            request,
            members: Vec::new(),
            auto: None,
            max_turns: None,
            spend_check: None,
            credentials: ClientCredentials::default(),
        }
    }

    /// A container that a run has used which is not kept.
    async fn used_container(&self) -> String {
        let mut events = self.engine.start(self.run_request()).await.unwrap();
        while events.next().await.is_some() {}
        match self.sandbox.take().remove(0) {
            Recorded::Command { container, .. } => container,
            other => panic!("{other:?}"),
        }
    }

    async fn run(&self, kept: KeptRun) -> KeptEnd {
        self.run_with(kept, self.run_request(), "messages").await
    }

    /// Runs this request, whose usage is of this dialect.
    async fn run_with(&self, kept: KeptRun, request: RunRequest, dialect: &str) -> KeptEnd {
        let (engine, usage) = (self.engine.clone(), self.usage(dialect));
        Box::pin(kept.run(engine, request, usage, Box::new(|_| {}))).await
    }

    /// Who pays for a run.
    fn usage(&self, dialect: &str) -> UsageRow {
        UsageRow {
            tenant: self.tenant.clone(),
            key: None,
            model: "stage/hero".to_owned(),
            provider: String::new(),
            upstream_model: String::new(),
            dialect: dialect.to_owned(),
            status: 200,
            requests: 0,
            unpriced: 0,
            estimated: 0,
            input_tokens: 0,
            output_tokens: 0,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            cost_nanos: 0,
            millis: 0,
            sandbox_millis: 0,
            skills: Vec::new(),
        }
    }

    /// Runs until so many commands have ended without an answer, then dies.
    async fn run_and_die(&self, kept: KeptRun, commands: usize) {
        self.sandbox.leaves_commands.store(true, Ordering::Relaxed);
        tokio::select! {
            end = self.run(kept) => panic!("{end:?}"),
            () = self.sandbox.wait_for_commands(commands) => {}
        }
        self.sandbox.leaves_commands.store(false, Ordering::Relaxed);
    }

    /// The ids of all commands since the last call, in alphabetical order, and their container.
    /// All have this epoch.
    fn take_ids(&self, run: &RunLease) -> (Vec<String>, String) {
        let recorded = self.sandbox.take().into_iter();
        let (mut ids, mut containers): (Vec<_>, Vec<_>) = recorded
            .filter_map(|one| match one {
                Recorded::Command {
                    id,
                    run: of,
                    epoch,
                    container,
                } => {
                    assert_eq!(of.as_deref(), Some(run.run.as_str()));
                    assert_eq!(epoch, run.epoch);
                    Some((id.unwrap(), container))
                }
                _ => None,
            })
            .unzip();
        ids.sort();
        containers.dedup();
        assert_eq!(containers.len(), 1, "{containers:?}");
        (ids, containers.remove(0))
    }
}

on_one_host_and_over_a_cluster! {
    commands_that_are_made_again_have_the_ids_of_the_first_attempt,
    a_command_that_is_not_repeated_has_the_result_that_its_worker_keeps,
    commands_of_a_run_that_is_not_kept_have_no_id,
    a_kept_run_commits_the_changes_of_its_commands_itself,
    a_run_whose_connections_to_the_database_break_is_resumed,
}

async fn commands_that_are_made_again_have_the_ids_of_the_first_attempt(place: CommandPlace) {
    let bed = Bed::new(place).await;
    let lease = bed.begin().await;
    let run = lease.run.clone();
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    bed.run_and_die(kept, 2).await;
    let (first, first_container) = bed.take_ids(&lease);
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1]);
    assert!(first.iter().all(|id| id.starts_with(&format!("{run}:"))));

    assert!(bed.store.release_lease(&lease).await.unwrap());
    let epoch = lease.epoch;
    let lease = bed.take_over().await;
    assert!(lease.epoch > epoch && epoch > 0);
    let kept = bed.engine.open_kept(lease.clone(), Instant::now()).await;
    let end = bed.run(kept.unwrap()).await;
    assert!(matches!(end, KeptEnd::Completed { .. }), "{end:?}");
    let (all, container) = bed.take_ids(&lease);
    assert_eq!(all.len(), 3);
    let repeated: Vec<_> = all.iter().filter(|id| first.contains(id)).collect();
    assert_eq!(repeated.len(), 2, "{all:?} {first:?}");
    // A worker knows a command by its container too.
    assert_eq!(container == first_container, bed.cluster.is_some());
}

async fn a_command_that_is_not_repeated_has_the_result_that_its_worker_keeps(place: CommandPlace) {
    let mut bed = Bed::new(place).await;
    let settings = EngineSettings {
        rerun: RerunPolicy::Never,
        ..EngineSettings::default()
    };
    let shared = Arc::clone(&bed.sandbox) as SharedSandboxes;
    bed.engine = Engine::new(bed.store.clone(), settings, SandboxHandle::ready(shared));
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    bed.run_and_die(kept, 2).await;
    assert!(bed.store.release_lease(&lease).await.unwrap());
    let lease = bed.take_over().await;
    let kept = bed.engine.open_kept(lease, Instant::now()).await.unwrap();
    let end = bed.run(kept).await;
    let KeptEnd::Completed { response, .. } = end else {
        panic!("{end:?}");
    };
    let is_unavailable = format!("{response:?}").contains("unavailable");
    let id = response.container.unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let files = bed.store.container_files(&bed.tenant, &id).await;
    let entries = files.unwrap().unwrap().entries;
    let sizes: Vec<_> = entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.size))
        .collect();
    // Of one host, nobody keeps anything when its server has died.
    match bed.cluster {
        None => assert_eq!((sizes, is_unavailable), (vec![("three", 0)], true)),
        Some(_) => {
            let all = vec![("one", 4), ("three", 8), ("two", 4)];
            assert_eq!((sizes, is_unavailable), (all, false));
        }
    }
}

/// Of one host, a lost container has no commands that go on.
#[tokio::test]
async fn commands_of_a_container_that_replaces_a_lost_one_are_found_again() {
    let bed = Bed::new(CommandPlace::Cluster).await;
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    bed.sandbox.loses_container.store(true, Ordering::Relaxed);
    bed.run_and_die(kept, 2).await;
    let (first, container) = bed.take_ids(&lease);
    assert_eq!(first.len(), 2);
    assert!(bed.store.release_lease(&lease).await.unwrap());
    let lease = bed.take_over().await;
    let kept = bed.engine.open_kept(lease.clone(), Instant::now()).await;
    let end = bed.run(kept.unwrap()).await;
    assert!(matches!(end, KeptEnd::Completed { .. }), "{end:?}");
    // The same commands, in the container that no finished call has used.
    let (all, container_then) = bed.take_ids(&lease);
    assert_eq!((all.len(), container_then), (3, container));
    assert!(first.iter().all(|id| all.contains(id)), "{all:?} {first:?}");
}

async fn commands_of_a_run_that_is_not_kept_have_no_id(place: CommandPlace) {
    let bed = Bed::new(place).await;
    let mut events = bed.engine.start(bed.run_request()).await.unwrap();
    while events.next().await.is_some() {}
    let recorded = bed.sandbox.take();
    assert_eq!(recorded.len(), 3, "{recorded:?}");
    for one in recorded {
        let Recorded::Command { id, run, .. } = one else {
            panic!("{one:?}");
        };
        assert_eq!(id, None);
        assert!(run.is_some());
    }
}

async fn a_kept_run_commits_the_changes_of_its_commands_itself(place: CommandPlace) {
    let bed = Bed::new(place).await;
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease, Instant::now());
    let end = bed.run(kept).await;
    let KeptEnd::Completed { response, .. } = end else {
        panic!("{end:?}");
    };
    let recorded = bed.sandbox.take();
    let kinds: Vec<_> = recorded
        .iter()
        .map(|one| match one {
            Recorded::Command { .. } => "command".to_owned(),
            Recorded::Deferred => "deferred".to_owned(),
            Recorded::Committed { generation, .. } => format!("committed {generation}"),
            Recorded::GuardDropped => "guard dropped".to_owned(),
        })
        .collect();
    // In a cluster, the run has its container before the first command.
    let first = match bed.cluster {
        None => ["command", "command", "deferred"],
        Some(_) => ["deferred", "command", "command"],
    };
    let rest = ["committed 1", "command", "committed 2", "guard dropped"];
    assert_eq!(kinds, [&first[..], &rest[..]].concat());
    // What was committed last is what the store has.
    let id = response.container.unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let files = bed.store.container_files(&bed.tenant, &id).await;
    let files = files.unwrap().unwrap();
    assert_eq!(files.generation, 2);
    let entries: Vec<SnapshotEntry> = files.entries.iter().map(to_snapshot_entry).collect();
    assert_eq!(entries.len(), 3);
    let stored = Snapshot::from_entries(entries).digest().to_string();
    let last = recorded.iter().rev().find_map(|one| match one {
        Recorded::Committed { files, .. } => Some(&**files),
        _ => None,
    });
    assert_eq!(last, Some(stored.as_str()));
}

async fn a_run_whose_connections_to_the_database_break_is_resumed(place: CommandPlace) {
    let server = PostgresServer::start_durable();
    let port = server.port().unwrap();
    let proxy = TcpProxy::start(port);
    let (from, to) = (format!(":{port}/"), format!(":{}/", proxy.port()));
    let bed = Bed::on(place, Some(server.database().replace(&from, &to))).await;
    let mut lease = bed.begin().await;
    let mut kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    // When the files of the container are read for the first step with it; then again, in a
    // cluster by the sandbox itself.
    let files = "LEFT JOIN container_files";
    let again = match place {
        CommandPlace::OneHost => files,
        CommandPlace::Cluster => "SELECT s.id, s.generation, s.files_digest",
    };
    let mut texts = [files, again].into_iter();
    let mut attempts = 0;
    let response = loop {
        if !proxy.is_to_be_cut()
            && let Some(text) = texts.next()
        {
            proxy.cut_at(text);
        }
        match bed.run(kept).await {
            // Connections that are found broken only now give it up too.
            KeptEnd::GivenUp(_) => {}
            KeptEnd::Completed { response, .. } => break response,
            end => panic!("{end:?}"),
        }
        attempts += 1;
        assert!(attempts < 20, "the run is never resumed");
        let released = retried(async || bed.store.release_lease(&lease).await).await;
        assert!(released);
        let runs =
            retried(async || bed.store.claim_runs("b", LEASE, FORMAT, 1, &[], &[]).await).await;
        lease = runs.into_iter().next().unwrap().lease;
        kept = loop {
            match bed.engine.open_kept(lease.clone(), Instant::now()).await {
                Ok(kept) => break kept,
                Err(error) => assert!(error.is_store_outage(), "{error}"),
            }
        };
    };
    assert!(!proxy.is_to_be_cut() && texts.next().is_none());
    assert!(attempts >= 2, "{attempts}");
    let container = response.container.unwrap();
    let id = container["id"].as_str().unwrap();
    let files = bed.store.container_files(&bed.tenant, id).await;
    let entries = files.unwrap().unwrap().entries;
    let sizes: Vec<_> = entries.iter().map(|entry| entry.size).collect();
    assert_eq!(sizes, [4, 8, 4]);
}

/// Otherwise the next server would take this one for dead.
#[tokio::test]
async fn that_a_run_is_given_up_is_noted_although_connections_break() {
    let server = PostgresServer::start_durable();
    let port = server.port().unwrap();
    let proxy = TcpProxy::start(port);
    let (from, to) = (format!(":{port}/"), format!(":{}/", proxy.port()));
    let database = server.database().replace(&from, &to);
    let bed = Bed::on(CommandPlace::OneHost, Some(database)).await;
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    let listener = kept.journal().subscribe();
    proxy.cut_at("UPDATE journal_runs SET owner");
    kept.journal().give_up().await.unwrap();
    assert!(!proxy.is_to_be_cut());
    assert!(listener.borrow().is_final);
    let expired = async || bed.store.renew_lease(&lease, Duration::ZERO).await;
    assert_eq!(retried(expired).await, LeaseStatus::Held);
    let claim = async || bed.store.claim_runs("b", LEASE, FORMAT, 1, &[], &[]).await;
    let claimed = retried(claim).await;
    assert_eq!((claimed.len(), claimed[0].losses), (1, 0));
}

/// Otherwise it would be resumed for ever, and its turn be paid again each time.
#[tokio::test]
async fn a_run_fails_whose_step_the_store_never_accepts() {
    let bed = Bed::new(CommandPlace::OneHost).await;
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    let end = bed.run_with(kept, bed.run_request(), "a\0b").await;
    let KeptEnd::Failed(error) = end else {
        panic!("{end:?}");
    };
    assert_eq!(error.code.as_deref(), Some("nul-in-text"));
    let steps = bed.store.journal_steps(&lease.run).await.unwrap();
    assert!(steps.is_empty(), "{steps:?}");
}

#[tokio::test]
async fn a_run_that_panics_fails() {
    let bed = Bed::new(CommandPlace::OneHost).await;
    let kept = bed.engine.begin_kept(bed.begin().await, Instant::now());
    let (engine, usage) = (bed.engine.clone(), bed.usage("messages"));
    let observer: EventObserver = Box::new(|_| panic!("a mistake in an observer"));
    let end = kept.run(engine, bed.run_request(), usage, observer).await;
    let KeptEnd::Failed(error) = end else {
        panic!("{end:?}");
    };
    assert_eq!(error.code.as_deref(), Some("run-failed"));
}

#[test]
fn a_run_whose_last_events_may_not_be_stored_has_not_ended() {
    let stopped = |stop| end_unless_stopped(KeptEnd::Cancelled, stop);
    for stop in [
        JournalStop::Lost,
        JournalStop::LeaseOver,
        JournalStop::Store(StoreError::Busy),
    ] {
        let end = stopped(Some(stop));
        assert!(matches!(end, KeptEnd::GivenUp(_)), "{end:?}");
    }
    for stop in [None, Some(JournalStop::CancelRequested)] {
        let end = stopped(stop);
        assert!(matches!(end, KeptEnd::Cancelled), "{end:?}");
    }
}

#[tokio::test]
async fn a_resumed_run_whose_container_is_still_in_use_is_resumed_later() {
    let bed = Bed::new(CommandPlace::OneHost).await;
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    // The third command has no answer: the step of the first two is stored, with the container.
    let dying = async {
        bed.sandbox.wait_for_commands(2).await;
        bed.sandbox.leaves_commands.store(true, Ordering::Relaxed);
        bed.sandbox.wait_for_commands(3).await;
    };
    tokio::select! {
        end = bed.run(kept) => panic!("{end:?}"),
        () = dying => {}
    }
    bed.sandbox.leaves_commands.store(false, Ordering::Relaxed);
    assert!(bed.store.release_lease(&lease).await.unwrap());
    let lease = bed.take_over().await;
    bed.sandbox.is_in_use.store(true, Ordering::Relaxed);
    let kept = bed.engine.open_kept(lease.clone(), Instant::now()).await;
    let end = bed.run(kept.unwrap()).await;
    let is_given_up = matches!(end, KeptEnd::GivenUp(JournalStop::ContainerInUse));
    assert!(is_given_up, "{end:?}");
    bed.sandbox.is_in_use.store(false, Ordering::Relaxed);
    assert!(bed.store.release_lease(&lease).await.unwrap());
    let lease = bed.take_over().await;
    let kept = bed.engine.open_kept(lease, Instant::now()).await.unwrap();
    let end = bed.run(kept).await;
    assert!(matches!(end, KeptEnd::Completed { .. }), "{end:?}");
}

#[tokio::test]
async fn a_kept_run_waits_for_a_run_that_uses_its_container() {
    let bed = Bed::new(CommandPlace::OneHost).await;
    let container = bed.used_container().await;
    let request = || bed.request_with(json!({"container": container}), json!("Go on."));
    let mut first = bed.engine.start(request()).await.unwrap();
    let lease = bed.begin().await;
    let kept = bed.engine.begin_kept(lease.clone(), Instant::now());
    let running = bed.run_with(kept, request(), "messages");
    let finishing = async {
        let is_held = async || {
            let held = bed.store.is_container_held(&bed.tenant, &container);
            held.await.unwrap()
        };
        while !is_held().await {
            tokio::task::yield_now().await;
        }
        while first.next().await.is_some() {}
        drop(first);
    };
    let (end, ()) = tokio::join!(running, finishing);
    assert!(matches!(end, KeptEnd::Completed { .. }), "{end:?}");
    let recorded = bed.sandbox.take().into_iter();
    let of_kept_run: Vec<bool> = recorded
        .filter_map(|one| match one {
            Recorded::Command { run, .. } => Some(run.as_ref() == Some(&lease.run)),
            _ => None,
        })
        .collect();
    assert_eq!(of_kept_run, [false, false, false, true, true, true]);
}

#[tokio::test]
async fn a_run_places_no_upload_in_a_container_that_another_one_holds() {
    let bed = Bed::new(CommandPlace::OneHost).await;
    let container = bed.used_container().await;
    let new = NewFile {
        name: "mine.txt",
        mime: "text/plain",
        purpose: "user_data",
        scope: None,
        downloadable: false,
        expires_in: None,
        limit: 100,
    };
    let content = stream::iter([Ok(Bytes::from_static(b"mine"))]);
    let file = bed.store.create_file(&bed.tenant, &new, content).await;
    let upload = json!([{"type": "container_upload", "file_id": file.unwrap().id}]);
    let request = bed.request_with(json!({"container": container}), upload);
    let other = bed.begin().await;
    let held = bed.store.hold_container(&other, &container).await.unwrap();
    assert!(matches!(held, HoldOutcome::Held { .. }), "{held:?}");
    let kept = bed.engine.begin_kept(bed.begin().await, Instant::now());
    // It waits until then.
    kept.journal().notice_cancel();
    let end = bed.run_with(kept, request, "messages").await;
    assert!(matches!(end, KeptEnd::Cancelled), "{end:?}");
    let files = bed.sandbox.list(bed.tenant.as_str(), &container).await;
    let files = files.unwrap();
    assert!(!files.is_empty());
    let is_placed = files.iter().any(|file| file.path == "mine.txt");
    assert!(!is_placed, "{files:?}");
}

/// Repeats what a connection prevents that is found broken.
async fn retried<T>(work: impl AsyncFn() -> Result<T, StoreError>) -> T {
    loop {
        match work().await {
            Ok(done) => return done,
            Err(error) => assert!(error.is_outage(), "{error}"),
        }
    }
}
