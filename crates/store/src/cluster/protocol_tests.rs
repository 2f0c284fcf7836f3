//! The protocol of holds and generations, with crashes between any two statements: servers that
//! run commands in one container in any order, some of them after their time has run out, a
//! client that changes files, and a kept run, on both databases.
//!
//! Each case is a list of actions. After each, the database is compared with a model. An
//! action that crashes must have happened wholly or not at all.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prowess_skill::Digest;
use prowess_testkit::postgres::TestPostgres;
use serde_json::json;

use crate::db::crash;
use crate::{
    AppendOutcome, BeginCommandOutcome, BeginOutcome, CommandCommit, CommitCommandOutcome,
    ContainerChange, ContainerEntry, ContainerQuota, ContainerUpdate, ContainerUser,
    CreateContainerOutcome, Database, EndOutcome, EntryContent, HoldOutcome, NewClusterContainer,
    NewJournalRun, NewStep, RunLease, RunResult, RunState, StepChanges, StepKind, Store,
    StoreConfig, TenantId, UpdateContainerOutcome,
};

const SERVERS: usize = 3;
const LONG: Duration = Duration::from_secs(3600);
/// Statements of one action are fewer than this.
const MAX_CRASH_POINT: u32 = 20;
const QUOTA: ContainerQuota = ContainerQuota {
    containers: 1_000_000,
    evict_idle: LONG,
};

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

#[derive(Debug, Clone, Copy)]
enum Action {
    /// A server begins a command, as part of the kept run or not.
    Begin { in_run: bool },
    /// A server commits the changes of its command.
    Commit,
    /// A server renews the time of its command.
    Renew,
    /// A server ends its command without changes.
    End,
    /// A client changes a file.
    Put,
    /// The kept run takes the container.
    HoldRun,
    /// The kept run commits changes with a step.
    Step,
    /// The kept run ends.
    EndRun,
    /// A client deletes the container, and it is created again.
    Delete,
}

/// An action of a server, and where it crashes.
#[derive(Debug, Clone, Copy)]
struct Turn {
    server: usize,
    action: Action,
    /// Whether the time it gets has already run out, as after a pause of the process.
    expired: bool,
    crash: Option<u32>,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let action = prop_oneof![
        6 => any::<bool>().prop_map(|in_run| Action::Begin { in_run }),
        6 => Just(Action::Commit),
        2 => Just(Action::Renew),
        2 => Just(Action::End),
        3 => Just(Action::Put),
        2 => Just(Action::HoldRun),
        2 => Just(Action::Step),
        1 => Just(Action::EndRun),
        1 => Just(Action::Delete),
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

/// The command that holds the container.
#[derive(Debug, Clone, PartialEq)]
struct Hold {
    command: String,
    in_run: bool,
    live: bool,
}

/// What must be in the database.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    generation: i64,
    /// The text of the container's only file.
    text: Option<String>,
    hold: Option<Hold>,
    committed_by: Option<String>,
    /// Whether the kept run is recorded as holding the container, which counts until it ends.
    run_holds: bool,
    run_ended: bool,
}

impl Model {
    fn live(&self) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.live)
    }

    fn is_held_by_run(&self) -> bool {
        self.run_holds && !self.run_ended
    }

    fn change(&mut self, text: &str) {
        self.generation += 1;
        self.text = Some(text.to_owned());
    }
}

/// What a server believes of its command.
#[derive(Debug, Clone)]
struct Believed {
    command: String,
    generation: i64,
}

struct Case<'a> {
    store: &'a Store,
    tenant: TenantId,
    container: String,
    lease: RunLease,
    model: Model,
    commands: [Option<Believed>; SERVERS],
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

/// Whether an action crashed.
type Crashed = bool;

impl<'a> Case<'a> {
    async fn new(store: &'a Store) -> Case<'a> {
        // A case that failed may have left a crash to come.
        crash::after(None);
        let tenant = TenantId::default_tenant();
        let run = Store::new_run_id().unwrap();
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
        let started = store.begin_run(&tenant, &new, "server", LONG).await;
        let BeginOutcome::Started(lease) = started.unwrap() else {
            panic!("the run is new");
        };
        let case = Case {
            store,
            tenant,
            container: format!("container_{run}"),
            lease,
            model: Model {
                generation: 0,
                text: None,
                hold: None,
                committed_by: None,
                run_holds: false,
                run_ended: false,
            },
            commands: [const { None }; SERVERS],
        };
        assert_eq!(case.create().await.unwrap(), 0);
        case
    }

    async fn create(&self) -> crate::Result<i64> {
        let setup = json!({});
        let new = NewClusterContainer {
            id: &self.container,
            setup: &setup,
            requirements: None,
            skills: &[],
            contents: Vec::new(),
            quota: QUOTA,
        };
        let created = self.store.create_cluster_container(&self.tenant, new);
        match created.await? {
            CreateContainerOutcome::Created { generation, .. } => Ok(generation),
            other => panic!("{other:?}"),
        }
    }

    async fn take_turn(&mut self, number: usize, turn: &Turn) {
        let time = if turn.expired { Duration::ZERO } else { LONG };
        // Every other one is small enough for the database, and for a commit of few statements.
        let text = match number.is_multiple_of(2) {
            true => format!("the text of turn {number}"),
            false => format!("turn {number}"),
        };
        let before = self.model.clone();
        let mut after = before.clone();
        crash::after(turn.crash);
        let crashed = match turn.action {
            Action::Begin { in_run } => self.begin(number, turn, in_run, time, &mut after).await,
            Action::Commit => self.commit(turn, &text, &mut after).await,
            Action::Renew => self.renew(turn, time, &mut after).await,
            Action::End => self.end(turn, &mut after).await,
            Action::Put => self.put(&text, &mut after).await,
            Action::HoldRun => self.hold_run(&mut after).await,
            Action::Step => self.step(&text, &mut after).await,
            Action::EndRun => self.end_run(&mut after).await,
            Action::Delete => self.delete(&mut after).await,
        };
        crash::after(None);
        let stored = self.read().await;
        if crashed {
            // It lost all it knew.
            self.commands[turn.server] = None;
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

    async fn begin(
        &mut self,
        number: usize,
        turn: &Turn,
        in_run: bool,
        time: Duration,
        after: &mut Model,
    ) -> Crashed {
        let model = &self.model;
        let run_permits = in_run || !model.is_held_by_run();
        // A command of the same run is taken over.
        let command_permits = model.live().is_none_or(|hold| in_run && hold.in_run);
        let command = format!("command {number}");
        if run_permits && command_permits {
            after.hold = Some(Hold {
                command: command.clone(),
                in_run,
                live: !turn.expired,
            });
        }
        let user = match in_run {
            true if model.is_held_by_run() && number.is_multiple_of(2) => ContainerUser::HoldingRun,
            true => ContainerUser::Run(&self.lease.run),
            false => ContainerUser::Anyone,
        };
        let (tenant, id) = (&self.tenant, &self.container);
        let held = self.store.begin_command(tenant, id, &command, time, user);
        match held.await {
            Ok(BeginCommandOutcome::Held(container)) => {
                assert!(run_permits && command_permits, "{model:?}");
                assert_eq!(container.generation, model.generation);
                let generation = container.generation;
                self.commands[turn.server] = Some(Believed {
                    command,
                    generation,
                });
            }
            Ok(BeginCommandOutcome::Busy { by }) => {
                assert!(!(run_permits && command_permits), "{by}: {model:?}");
            }
            Ok(BeginCommandOutcome::NotFound) => panic!("{model:?}"),
            Err(_) => return true,
        }
        false
    }

    async fn commit(&mut self, turn: &Turn, text: &str, after: &mut Model) -> Crashed {
        let Some(believed) = self.commands[turn.server].take() else {
            return false;
        };
        let model = &self.model;
        let own = model
            .hold
            .as_ref()
            .filter(|hold| hold.command == believed.command);
        let command_permits = own.is_some() || model.live().is_none();
        let run_permits = !model.is_held_by_run() || own.is_some_and(|hold| hold.in_run);
        let permitted = command_permits && run_permits && believed.generation == model.generation;
        if permitted {
            after.change(text);
            after.hold = None;
            after.committed_by = Some(believed.command.clone());
        }
        let Ok((digest, contents)) = self.stage(text).await else {
            return true;
        };
        let commit = CommandCommit {
            holder: &believed.command,
            worker: None,
            change: self.change(believed.generation, text, digest),
            contents,
            setup: None,
        };
        match self.store.commit_command(&self.tenant, commit).await {
            Ok(CommitCommandOutcome::Committed { generation }) => {
                assert!(permitted, "{believed:?} in {model:?}");
                assert_eq!(generation, model.generation + 1);
            }
            Ok(CommitCommandOutcome::Lost) => assert!(!permitted, "{believed:?} in {model:?}"),
            Ok(CommitCommandOutcome::NotFound) => panic!("{model:?}"),
            Err(_) => {
                crash::after(None);
                let known = self.store.committed_generation(
                    &self.tenant,
                    &self.container,
                    &believed.command,
                );
                let known = known.await.unwrap();
                let stored = self.read().await;
                assert_eq!(known.is_some(), stored.generation > model.generation);
                return true;
            }
        }
        false
    }

    async fn renew(&mut self, turn: &Turn, time: Duration, after: &mut Model) -> Crashed {
        let Some(believed) = &self.commands[turn.server] else {
            return false;
        };
        let model = &self.model;
        let run_has_held = model.run_holds;
        let renewed = match &model.hold {
            Some(hold) if hold.command == believed.command => {
                hold.live || hold.in_run || !run_has_held
            }
            _ => false,
        };
        if let Some(hold) = after.hold.as_mut().filter(|_| renewed) {
            hold.live = !turn.expired;
        }
        let (tenant, id) = (&self.tenant, &self.container);
        let command = &believed.command;
        match self.store.renew_command(tenant, id, command, time).await {
            Ok(outcome) => assert_eq!(outcome, renewed, "{believed:?} in {model:?}"),
            Err(_) => return true,
        }
        false
    }

    async fn end(&mut self, turn: &Turn, after: &mut Model) -> Crashed {
        let Some(believed) = self.commands[turn.server].take() else {
            return false;
        };
        if after.hold.as_ref().map(|hold| &hold.command) == Some(&believed.command) {
            after.hold = None;
        }
        let (tenant, id) = (&self.tenant, &self.container);
        let ended = self.store.end_command(tenant, id, &believed.command, None);
        ended.await.is_err()
    }

    async fn put(&mut self, text: &str, after: &mut Model) -> Crashed {
        let permitted = self.model.live().is_none() && !self.model.is_held_by_run();
        if permitted {
            after.change(text);
        }
        let Ok((digest, contents)) = self.stage(text).await else {
            return true;
        };
        let update = ContainerUpdate {
            user: ContainerUser::Anyone,
            generation: None,
            changed: vec![entry(text, digest)],
            removed: Vec::new(),
            files_digest: None,
            contents,
            setup: None,
        };
        let (tenant, id) = (&self.tenant, &self.container);
        match self.store.change_container_files(tenant, id, update).await {
            Ok(UpdateContainerOutcome::Changed { generation }) => {
                assert!(permitted, "{:?}", self.model);
                assert_eq!(generation, after.generation);
            }
            Ok(UpdateContainerOutcome::Busy { .. }) => assert!(!permitted, "{:?}", self.model),
            Ok(other) => panic!("{other:?}"),
            Err(_) => return true,
        }
        false
    }

    async fn hold_run(&mut self, after: &mut Model) -> Crashed {
        let model = &self.model;
        // Held once, it is held until the run ends.
        let permitted = model.run_holds || model.live().is_none_or(|hold| hold.in_run);
        after.run_holds |= permitted;
        match self
            .store
            .hold_container(&self.lease, &self.container)
            .await
        {
            Ok(HoldOutcome::Held { generation }) => {
                assert!(permitted, "{model:?}");
                assert_eq!(generation, model.generation);
            }
            Ok(HoldOutcome::Busy { .. }) => assert!(!permitted, "{model:?}"),
            Ok(HoldOutcome::NotFound) => panic!("{model:?}"),
            Err(_) => return true,
        }
        false
    }

    /// The run commits from the generation that it has read, which nobody else may have changed
    /// since it holds the container.
    async fn step(&mut self, text: &str, after: &mut Model) -> Crashed {
        if !self.model.is_held_by_run() {
            return false;
        }
        after.change(text);
        let Ok((digest, contents)) = self.stage(text).await else {
            return true;
        };
        let changes = StepChanges {
            contents,
            container: Some(self.change(self.model.generation, text, digest)),
            ..StepChanges::default()
        };
        let step = NewStep {
            kind: StepKind::ToolResult,
            call: Some("call"),
            body: "{}",
        };
        let mut lease = self.lease.clone();
        let appended = self.store.append_step(&mut lease, &step, changes, LONG);
        match appended.await {
            Ok(outcome) => assert_eq!(outcome, AppendOutcome::Committed),
            Err(_) => {
                // Whoever resumes the run reads the number of its steps.
                crash::after(None);
                let run = self.store.journal_run(&self.tenant, &self.lease.run).await;
                self.lease.next_step = run.unwrap().steps;
                return true;
            }
        }
        self.lease = lease;
        false
    }

    async fn end_run(&mut self, after: &mut Model) -> Crashed {
        if self.model.run_ended {
            return false;
        }
        after.run_ended = true;
        after.run_holds = false;
        let result = RunResult {
            state: RunState::Completed,
            body: "{}",
            events: None,
        };
        match self.store.end_run(&self.lease, &result, &[]).await {
            Ok(outcome) => assert_eq!(outcome, EndOutcome::Ended),
            Err(_) => return true,
        }
        false
    }

    async fn delete(&mut self, after: &mut Model) -> Crashed {
        after.generation += 1;
        after.text = None;
        after.hold = None;
        after.committed_by = None;
        let (tenant, id) = (&self.tenant, &self.container);
        let deleted = self.store.delete_cluster_container(tenant, id).await;
        crash::after(None);
        let exists = self.store.cluster_container(tenant, id).await.unwrap();
        if exists.is_none() {
            assert_eq!(self.create().await.unwrap(), after.generation);
        }
        deleted.is_err()
    }

    async fn stage(&self, text: &str) -> crate::Result<(Digest, Vec<crate::StagedContent>)> {
        let digest = Digest::from_content(text.as_bytes());
        let contents = BTreeMap::from([(digest, Bytes::copy_from_slice(text.as_bytes()))]);
        Ok((digest, self.store.stage_new_contents(contents).await?))
    }

    fn change(&self, generation: i64, text: &str, digest: Digest) -> ContainerChange {
        ContainerChange {
            container: self.container.clone(),
            generation,
            changed: vec![entry(text, digest)],
            removed: Vec::new(),
            files_digest: Some(digest),
        }
    }

    /// The database, in the terms of the model.
    async fn read(&self) -> Model {
        let sql = crate::db::Sql::new(
            "SELECT s.generation, s.held_by, s.stored_bytes, s.files_digest, c.held_by AS command,
                    c.held_run, c.held_until, c.committed_by
             FROM sessions s JOIN cluster_containers c ON c.id = s.id WHERE s.id = ",
        );
        let sql = sql.push_bind("", &self.container);
        let row = self.store.db().fetch_optional(sql).await.unwrap().unwrap();
        let files = self.store.container_files(&self.tenant, &self.container);
        let files = files.await.unwrap().unwrap();
        assert_eq!(files.generation, row.int("generation").unwrap());
        let mut text = None;
        let mut bytes = 0;
        for entry in files.entries {
            let EntryContent::File(digest) = entry.content else {
                panic!("{entry:?}");
            };
            let content = self.store.blobs().open(digest).await.unwrap();
            let content = content.collect().await.unwrap();
            bytes += content.len() as i64;
            if let Some(files_digest) = row.optional_text("files_digest").unwrap() {
                assert_eq!(files_digest, digest.to_string(), "of another generation");
            }
            text = Some(String::from_utf8(content.to_vec()).unwrap());
        }
        assert_eq!(row.int("stored_bytes").unwrap(), bytes);
        let run = self.store.journal_run(&self.tenant, &self.lease.run).await;
        let soon = crate::Timestamp::now().after(LONG / 2);
        let command = row.optional_text("command").unwrap();
        Model {
            generation: files.generation,
            text,
            hold: command.map(|command| Hold {
                command,
                in_run: row.optional_text("held_run").unwrap().is_some(),
                live: row.time("held_until").unwrap() > soon,
            }),
            committed_by: row.optional_text("committed_by").unwrap(),
            run_holds: row.optional_text("held_by").unwrap().is_some(),
            run_ended: run.unwrap().state.is_terminal(),
        }
    }
}

fn entry(text: &str, digest: Digest) -> ContainerEntry {
    ContainerEntry {
        path: "log".to_owned(),
        content: EntryContent::File(digest),
        size: text.len() as i64,
        mode: 0o644,
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
fn commands_and_generations_hold_on_sqlite() {
    check_protocol(Database::Sqlite, 150);
}

#[test]
fn commands_and_generations_hold_on_postgres() {
    check_protocol(Database::Postgres, 75);
}
