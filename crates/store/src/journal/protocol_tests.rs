//! The protocol of leases and generations, with crashes between any two statements: servers
//! that act in any order, some of them with leases they have lost, on both databases.
//!
//! Each case is a list of actions. After each, the database is compared with a model. An
//! action that crashes must have happened wholly or not at all.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prowess_skill::Digest;
use prowess_testkit::postgres::TestPostgres;
use serde_json::Value;

use crate::db::crash;
use crate::{
    AppendOutcome, BeginOutcome, CancelOutcome, ContainerChange, ContainerEntry, ContainerFiles,
    ContainerRecord, Database, EndOutcome, EntryContent, FileFilter, LeaseStatus, NewFile,
    NewJournalRun, NewStep, PageRequest, RunLease, RunResult, RunState, StepChanges, StepKind,
    Store, StoreConfig, TenantId,
};

const SERVERS: usize = 3;
const LONG: Duration = Duration::from_secs(3600);
/// Journal statements are fewer than this in one action.
const MAX_CRASH_POINT: u32 = 16;

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

#[derive(Debug, Clone)]
enum Action {
    /// A server claims the run.
    Claim,
    /// A server appends a step, from the lease it believes to have.
    Append { changes_files: bool },
    /// A server renews its lease.
    Renew,
    /// A server drains and gives its lease up.
    Release,
    /// A server puts the run back into the queue.
    Postpone,
    /// A server gives back the run that it has claimed.
    Return,
    /// A server ends the run.
    End,
    /// A client cancels the run.
    Cancel,
}

/// An action of a server, and where it crashes.
#[derive(Debug, Clone)]
struct Turn {
    server: usize,
    action: Action,
    /// Whether the lease it gets has already run out, as after a pause of the process.
    expired: bool,
    crash: Option<u32>,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let action = prop_oneof![
        4 => Just(Action::Claim),
        8 => any::<bool>().prop_map(|changes_files| Action::Append { changes_files }),
        2 => Just(Action::Renew),
        1 => Just(Action::Release),
        1 => Just(Action::Postpone),
        1 => Just(Action::Return),
        1 => Just(Action::End),
        1 => Just(Action::Cancel),
    ];
    let crash = prop_oneof![2 => Just(None), 1 => (0..MAX_CRASH_POINT).prop_map(Some)];
    let turn =
        (0..SERVERS, action, any::<bool>(), crash).prop_map(|(server, action, expired, crash)| {
            Turn {
                server,
                action,
                expired,
                crash,
            }
        });
    proptest::collection::vec(turn, 1..40)
}

/// What must be in the database.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    state: RunState,
    epoch: i64,
    /// Whether the owner's lease has run out.
    expired: bool,
    cancel_requested: bool,
    steps: Vec<(i64, String)>,
    /// The text of the container's only file, after each change.
    generations: Vec<String>,
    files: usize,
}

/// A case: one run, one container, servers with what they believe.
struct Case<'a> {
    store: &'a Store,
    tenant: TenantId,
    run: String,
    container: String,
    model: Model,
    leases: [Option<RunLease>; SERVERS],
}

async fn open(database: Database) -> (Store, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = StoreConfig::local(folder.path());
    config.inline_bytes = 10;
    if database == Database::Postgres {
        config.database = POSTGRES.database();
    }
    (Store::open(&config).await.unwrap(), folder)
}

fn text_digest(text: &str) -> Digest {
    use sha2::Digest as _;
    let hex: String = sha2::Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    crate::blob::parse_digest(&format!("sha256:{hex}")).unwrap()
}

impl<'a> Case<'a> {
    async fn new(store: &'a Store) -> Case<'a> {
        // A case that failed may have left a crash to come and a run to be claimed.
        crash::after(None);
        let sql = crate::db::Sql::new("DELETE FROM journal_runs");
        store.db().execute(sql).await.unwrap();
        let tenant = TenantId::default_tenant();
        let run = Store::new_run_id().unwrap();
        let container = format!("container_{run}");
        let new = NewJournalRun {
            id: &run,
            api_key: None,
            dialect: "messages",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: b"{}",
        };
        let started = store.enqueue_run(&tenant, &new).await.unwrap();
        assert!(matches!(started, BeginOutcome::Started(_)));
        Case {
            store,
            tenant,
            run,
            container,
            model: Model {
                state: RunState::Queued,
                epoch: 1,
                expired: true,
                cancel_requested: false,
                steps: Vec::new(),
                generations: Vec::new(),
                files: 0,
            },
            leases: [const { None }; SERVERS],
        }
    }

    async fn take_turn(&mut self, number: usize, turn: &Turn) {
        let lease_time = if turn.expired { Duration::ZERO } else { LONG };
        let before = self.model.clone();
        let mut after = before.clone();
        crash::after(turn.crash);
        let crashed = match turn.action {
            Action::Claim => self.claim(turn, lease_time, &mut after).await,
            Action::Append { changes_files } => {
                self.append(number, turn, changes_files, lease_time, &mut after)
                    .await
            }
            Action::Renew => self.renew(turn, lease_time, &mut after).await,
            Action::Release => self.release(turn, &mut after).await,
            Action::Postpone => self.postpone(turn, &mut after).await,
            Action::Return => self.give_back(turn, &mut after).await,
            Action::End => self.end(turn, &mut after).await,
            Action::Cancel => self.cancel(&mut after).await,
        };
        crash::after(None);
        let stored = self.read(&before, &after).await;
        if crashed {
            // It lost all it knew.
            self.leases[turn.server] = None;
            assert!(
                stored == before || stored == after,
                "{turn:?} happened in part: {before:?} -> {stored:?}, expected {after:?}"
            );
            self.model = stored;
        } else {
            assert_eq!(stored, after, "{turn:?} after {before:?}");
            self.model = after;
        }
    }

    /// Whether the server's lease is the current one.
    fn owns(&self, server: usize) -> bool {
        let current = |lease: &RunLease| {
            lease.epoch == self.model.epoch && self.model.state == RunState::Running
        };
        self.leases[server].as_ref().is_some_and(current)
    }

    async fn claim(&mut self, turn: &Turn, time: Duration, after: &mut Model) -> bool {
        let claimable = !self.model.state.is_terminal() && self.model.expired;
        if claimable {
            after.state = RunState::Running;
            after.epoch += 1;
            after.expired = turn.expired;
        }
        // There is no other run. PostgreSQL may take a moment to end a transaction that a crash
        // has interrupted, and rows that it locks are skipped.
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        let claimed = loop {
            let Ok(claimed) = self.store.claim_runs("server", time, 1, 10, &[], &[]).await else {
                return true;
            };
            if claimed.len() == usize::from(claimable) {
                break claimed;
            }
            assert!(std::time::Instant::now() < deadline, "{:?}", self.model);
            tokio::task::yield_now().await;
        };
        if let Some(claimed) = claimed.into_iter().next() {
            assert_eq!(claimed.lease.run, self.run);
            assert_eq!(claimed.lease.epoch, after.epoch);
            assert_eq!(claimed.lease.next_step as usize, after.steps.len());
            assert_eq!(claimed.cancel_requested, after.cancel_requested);
            self.leases[turn.server] = Some(claimed.lease);
        }
        false
    }

    async fn append(
        &mut self,
        number: usize,
        turn: &Turn,
        changes_files: bool,
        time: Duration,
        after: &mut Model,
    ) -> bool {
        let owns = self.owns(turn.server);
        let Some(mut lease) = self.leases[turn.server].clone() else {
            return false;
        };
        let body = format!("step {number}");
        let text = format!("{}line {number}\n", self.model.generations.concat());
        if owns && !self.model.cancel_requested {
            after.steps.push((lease.epoch, body.clone()));
            after.expired = turn.expired;
            if changes_files {
                after.generations.push(format!("line {number}\n"));
                after.files += 1;
            }
        }
        let changes = if changes_files {
            match self.stage(&text).await {
                Ok(changes) => changes,
                // Nothing but staged content, which is collected later.
                Err(_) => return true,
            }
        } else {
            StepChanges::default()
        };
        let step = NewStep {
            kind: StepKind::ToolResult,
            call: Some("call"),
            body: &body,
        };
        let appended = self
            .store
            .append_step(&mut lease, &step, changes, time)
            .await;
        let Ok(appended) = appended else {
            return true;
        };
        let expected = match (owns, self.model.cancel_requested) {
            (true, false) => AppendOutcome::Committed,
            (true, true) => AppendOutcome::CancelRequested,
            (false, _) => AppendOutcome::Lost,
        };
        assert_eq!(appended, expected);
        self.leases[turn.server] = Some(lease);
        false
    }

    /// The container's file with this text, also as a file for the client.
    async fn stage(&self, text: &str) -> crate::Result<StepChanges> {
        let digest = text_digest(text);
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let contents = BTreeMap::from([(digest, bytes.clone())]);
        let new = NewFile {
            name: "log",
            mime: "text/plain",
            purpose: "assistants_output",
            scope: Some(&self.container),
            downloadable: true,
            expires_in: None,
            limit: 1 << 20,
        };
        // The first step that changes files has created the container.
        let new_container = self.model.generations.is_empty().then(|| ContainerRecord {
            id: self.container.clone(),
            upstream: None,
            skills: Value::Null,
        });
        Ok(StepChanges {
            new_container,
            contents: self.store.stage_contents(contents).await?,
            files: vec![
                self.store
                    .stage_file(&self.tenant, &new, stream::iter([Ok(bytes)]))
                    .await?,
            ],
            container: Some(ContainerChange {
                container: self.container.clone(),
                generation: self.model.generations.len() as i64,
                changed: vec![ContainerEntry {
                    path: "log".to_owned(),
                    content: EntryContent::File(digest),
                    size: text.len() as i64,
                    mode: 0o644,
                }],
                removed: Vec::new(),
                files_digest: None,
            }),
            usage: Vec::new(),
            events: None,
        })
    }

    async fn renew(&mut self, turn: &Turn, time: Duration, after: &mut Model) -> bool {
        let owns = self.owns(turn.server);
        let Some(lease) = &self.leases[turn.server] else {
            return false;
        };
        if owns {
            after.expired = turn.expired;
        }
        let expected = match (owns, self.model.cancel_requested) {
            (true, false) => LeaseStatus::Held,
            (true, true) => LeaseStatus::CancelRequested,
            (false, _) => LeaseStatus::Lost,
        };
        match self.store.renew_lease(lease, time).await {
            Ok(status) => assert_eq!(status, expected),
            Err(_) => return true,
        }
        false
    }

    async fn release(&mut self, turn: &Turn, after: &mut Model) -> bool {
        let owns = self.owns(turn.server);
        let Some(lease) = &self.leases[turn.server] else {
            return false;
        };
        after.expired |= owns;
        match self.store.release_lease(lease).await {
            Ok(released) => assert_eq!(released, owns),
            Err(_) => return true,
        }
        false
    }

    async fn postpone(&mut self, turn: &Turn, after: &mut Model) -> bool {
        let has_progress = !self.model.steps.is_empty() || self.model.cancel_requested;
        let expected = self.owns(turn.server) && !has_progress;
        let Some(lease) = &self.leases[turn.server] else {
            return false;
        };
        if expected {
            after.state = RunState::Queued;
            after.expired = true;
        }
        match self.store.postpone_run(lease).await {
            Ok(postponed) => assert_eq!(postponed, expected),
            Err(_) => return true,
        }
        false
    }

    async fn give_back(&mut self, turn: &Turn, after: &mut Model) -> bool {
        let owns = self.owns(turn.server);
        let Some(lease) = &self.leases[turn.server] else {
            return false;
        };
        if owns {
            after.expired = true;
            if self.model.steps.is_empty() && !self.model.cancel_requested {
                after.state = RunState::Queued;
            }
        }
        match self.store.return_run(lease).await {
            Ok(returned) => assert_eq!(returned, owns),
            Err(_) => return true,
        }
        false
    }

    async fn end(&mut self, turn: &Turn, after: &mut Model) -> bool {
        let owns = self.owns(turn.server);
        let Some(lease) = &self.leases[turn.server] else {
            return false;
        };
        if owns {
            after.state = RunState::Completed;
        }
        let result = RunResult {
            state: RunState::Completed,
            body: "{}",
            events: None,
        };
        match self.store.end_run(lease, &result, &[]).await {
            Ok(EndOutcome::Ended) => assert!(owns),
            Ok(EndOutcome::Lost) => assert!(!owns),
            Err(_) => return true,
        }
        false
    }

    async fn cancel(&mut self, after: &mut Model) -> bool {
        let expected = match self.model.state {
            RunState::Queued => {
                after.state = RunState::Cancelled;
                after.cancel_requested = true;
                after.epoch += 1;
                CancelOutcome::Cancelled
            }
            RunState::Running => {
                after.cancel_requested = true;
                CancelOutcome::Requested
            }
            ended => CancelOutcome::AlreadyEnded(ended),
        };
        match self.store.cancel_run(&self.tenant, &self.run, &[]).await {
            Ok(outcome) => assert_eq!(outcome, expected),
            Err(_) => return true,
        }
        false
    }

    /// The database, in the terms of the model.
    async fn read(&self, before: &Model, after: &Model) -> Model {
        let run = self
            .store
            .journal_run(&self.tenant, &self.run)
            .await
            .unwrap();
        let steps = self.store.journal_steps(&self.run).await.unwrap();
        assert!(
            steps
                .iter()
                .enumerate()
                .all(|(at, step)| step.seq as usize == at)
        );
        assert!(steps.is_sorted_by_key(|step| step.epoch));
        assert_eq!(run.steps as usize, steps.len());
        let files = self.store.container_files(&self.tenant, &self.container);
        let files = files.await.unwrap().unwrap_or(ContainerFiles {
            generation: 0,
            entries: Vec::new(),
        });
        let generations = if files.generation as usize == after.generations.len() {
            &after.generations
        } else {
            &before.generations
        };
        assert_eq!(files.generation as usize, generations.len());
        let text = generations.concat();
        match files.entries.as_slice() {
            [] => assert!(generations.is_empty()),
            [entry] => {
                let digest = text_digest(&text);
                assert_eq!(entry.content, EntryContent::File(digest));
                let content = self.store.blobs().open(digest).await.unwrap();
                assert_eq!(content.collect().await.unwrap(), text.as_bytes());
            }
            more => panic!("{more:?}"),
        }
        let filter = FileFilter {
            scope: Some(self.container.clone()),
            ..FileFilter::default()
        };
        let page = PageRequest {
            limit: 100,
            ..PageRequest::default()
        };
        let held = self.store.is_container_held(&self.tenant, &self.container);
        let is_held = !generations.is_empty() && !run.state.is_terminal();
        assert_eq!(held.await.unwrap(), is_held);
        let listed = self.store.list_files(&self.tenant, &filter, &page).await;
        let (epoch, expired) = self.read_lease().await;
        Model {
            state: run.state,
            epoch,
            expired,
            cancel_requested: run.cancel_requested,
            steps: steps
                .into_iter()
                .map(|step| (step.epoch, step.body))
                .collect(),
            generations: generations.clone(),
            files: listed.unwrap().items.len(),
        }
    }

    async fn read_lease(&self) -> (i64, bool) {
        let sql = crate::db::Sql::new("SELECT epoch, lease_until FROM journal_runs WHERE id = ")
            .push_bind("", &self.run);
        let row = self.store.db().fetch_optional(sql).await.unwrap().unwrap();
        let soon = crate::Timestamp::now().after(LONG / 2);
        (
            row.int("epoch").unwrap(),
            row.time("lease_until").unwrap() < soon,
        )
    }
}

fn check_protocol(database: Database, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (store, _folder) = runtime.block_on(open(database));
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&turns(), |turns| {
            runtime.block_on(async {
                let mut case = Case::new(&store).await;
                for (number, turn) in turns.iter().enumerate() {
                    case.take_turn(number, turn).await;
                }
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn leases_and_generations_hold_on_sqlite() {
    check_protocol(Database::Sqlite, 200);
}

#[test]
fn leases_and_generations_hold_on_postgres() {
    check_protocol(Database::Postgres, 100);
}
