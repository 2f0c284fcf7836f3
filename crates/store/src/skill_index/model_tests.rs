//! The index against a model: skills that are uploaded, replaced and deleted in any order,
//! with merges and crashes between any two statements, on both databases. After each action
//! every query must give what ranking the live versions in memory gives.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use prowess_ranking::{SkillQuery, SkillTerms, rank_with_words};
use prowess_skill::{LoadOptions, Skill};
use prowess_testkit::postgres::TestPostgres;

use super::document_terms::version_terms;
use super::query_pages::select_pages;
use super::recent_cache::select_terms;
use super::snapshot::{select_documents, select_snapshot};
use crate::db::{Sql, crash};
use crate::skills::query_plan::assert_no_table_is_scanned;
use crate::{
    Database, NewSkill, NewVersion, PageRequest, SkillDeleteRule, SkillFilter, Store, StoreConfig,
    TenantId, VersionDeleteRule, VersionSelector,
};

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);
static TENANTS: AtomicU32 = AtomicU32::new(0);

/// The statements of an upload that makes a block are fewer than this.
const MAX_CRASH_POINT: u32 = 24;
pub(super) const QUERIES: [&str; 5] = [
    "w0",
    "w1 w2 unknown",
    "please use w3, w5 and w8 with w0",
    "w7 w7 w9 w13",
    "skill",
];

#[derive(Debug, Clone)]
enum Action {
    Create(Vec<u8>),
    Update(usize, Vec<u8>),
    Delete(usize),
    DeleteLatest(usize),
    Merge,
    MergeQuiet,
}

fn actions() -> impl Strategy<Value = Vec<(Action, Option<u32>)>> {
    let words = || prop::collection::vec(any::<u8>(), 1..40);
    let action = prop_oneof![
        8 => words().prop_map(Action::Create),
        4 => (any::<usize>(), words()).prop_map(|(at, words)| Action::Update(at, words)),
        3 => any::<usize>().prop_map(Action::Delete),
        1 => any::<usize>().prop_map(Action::DeleteLatest),
        3 => Just(Action::Merge),
        1 => Just(Action::MergeQuiet),
    ];
    let crash = prop_oneof![3 => Just(None), 1 => (0..MAX_CRASH_POINT).prop_map(Some)];
    prop::collection::vec((action, crash), 1..60)
}

/// Low numbers come more often.
fn text(words: &[u8]) -> String {
    let word = |byte: &u8| format!("w{}", u32::from(*byte) * u32::from(*byte) / 4_000);
    let words: Vec<_> = words.iter().map(word).collect();
    let (first, rest) = words.split_at(words.len() / 4);
    let (heading, body) = rest.split_at(rest.len() / 3);
    format!(
        "description: About {}\n---\n# Use {}\n\n{}\n",
        first.join(" "),
        heading.join(" "),
        body.join(" ")
    )
}

fn skill(name: &str, words: &[u8]) -> Skill {
    let text = format!("---\nname: {name}\n{}", text(words));
    Skill::from_text(&text, &LoadOptions::default())
        .skill
        .unwrap()
}

fn terms(skill: &Skill) -> SkillTerms {
    version_terms(
        &skill.name,
        &skill.description,
        &skill.frontmatter,
        &skill.body,
    )
}

/// What the tenant has: skills in the order in which their documents were added.
pub(crate) struct Case<'a> {
    store: &'a Store,
    pub(crate) tenant: TenantId,
    made: u32,
    live: Vec<LiveSkill>,
}

#[derive(Clone)]
struct LiveSkill {
    id: String,
    name: String,
    /// All versions, the latest last.
    versions: Vec<SkillTerms>,
}

impl<'a> Case<'a> {
    pub(crate) async fn new(store: &'a Store) -> Self {
        let number = TENANTS.fetch_add(1, Ordering::Relaxed);
        let tenant = TenantId::new(format!("case-{number}")).unwrap();
        store.ensure_tenant(&tenant, "case").await.unwrap();
        Case {
            store,
            tenant,
            made: 0,
            live: Vec::new(),
        }
    }

    async fn act(&mut self, action: &Action) {
        let count = self.live.len();
        match action {
            Action::Create(words) => self.create(words).await,
            Action::Merge => drop(self.store.merge_tenant(&self.tenant).await),
            Action::MergeQuiet => drop(self.store.merge_quiet_tenant(&self.tenant).await),
            Action::Update(at, words) if count > 0 => self.update(at % count, words).await,
            Action::Delete(at) if count > 0 => self.delete(at % count).await,
            Action::DeleteLatest(at) if count > 0 => self.delete_latest(at % count).await,
            _ => {}
        }
    }

    pub(crate) async fn create(&mut self, words: &[u8]) {
        self.made += 1;
        let name = format!("skill-x{}", self.made);
        let skill = skill(&name, words);
        let new = NewSkill::from_skill(&skill);
        let created = self.store.create_skill(&self.tenant, &new).await;
        crash::after(None);
        let id = match created {
            Ok(created) => Some(created.skill.id),
            Err(_) => self.find(&name).await,
        };
        if let Some(id) = id {
            self.live.push(LiveSkill {
                id,
                name,
                versions: vec![terms(&skill)],
            });
        }
    }

    async fn find(&self, name: &str) -> Option<String> {
        let filter = SkillFilter {
            name: Some(name.to_owned()),
            ..SkillFilter::default()
        };
        let page = PageRequest::default();
        let found = self.store.list_skills(&self.tenant, &filter, &page).await;
        found.unwrap().items.pop().map(|skill| skill.id)
    }

    async fn versions(&self, id: &str) -> usize {
        let page = PageRequest::default();
        let versions = self.store.list_versions(&self.tenant, id, &page).await;
        versions.map_or(0, |page| page.items.len())
    }

    pub(super) async fn update(&mut self, at: usize, words: &[u8]) {
        let mut changed = self.live[at].clone();
        if changed.versions.len() > 10 {
            return;
        }
        let skill = skill(&changed.name, words);
        let new = NewVersion::from_skill(&skill);
        let _ = self
            .store
            .create_version(&self.tenant, &changed.id, &new)
            .await;
        crash::after(None);
        if self.versions(&changed.id).await > changed.versions.len() {
            changed.versions.push(terms(&skill));
            self.live.remove(at);
            self.live.push(changed);
        }
    }

    pub(super) async fn delete(&mut self, at: usize) {
        let (rule, id) = (SkillDeleteRule::Cascade, self.live[at].id.clone());
        let _ = self.store.delete_skill(&self.tenant, &id, rule).await;
        crash::after(None);
        if self.versions(&id).await == 0 {
            self.live.remove(at);
        }
    }

    async fn delete_latest(&mut self, at: usize) {
        let mut changed = self.live[at].clone();
        let (latest, rule) = (VersionSelector::Latest, VersionDeleteRule::ANTHROPIC);
        let _ = self
            .store
            .delete_version(&self.tenant, &changed.id, &latest, rule)
            .await;
        crash::after(None);
        if self.versions(&changed.id).await < changed.versions.len() {
            changed.versions.pop();
            self.live.remove(at);
            self.live.push(changed);
        }
    }

    pub(super) async fn check(&self) {
        let latest = self.live.iter().map(|skill| skill.versions.last().unwrap());
        let latest: Vec<_> = latest.cloned().collect();
        for query in QUERIES {
            let expected = rank_with_words(&SkillQuery::parse(query), &latest, 20);
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(scored, words)| {
                    let id = self.live[scored.document as usize].id.clone();
                    (id, scored.score, words)
                })
                .collect();
            let found = self.store.route_skills(&self.tenant, query, 20).await;
            let found: Vec<_> = found
                .unwrap()
                .into_iter()
                .map(|skill| (skill.skill_id, skill.score, skill.matched))
                .collect();
            assert_eq!(found, expected, "{query}");
        }
    }

    /// Blocks by state.
    async fn blocks(&self) -> HashMap<String, i64> {
        let sql = Sql::new(
            "SELECT state, COUNT(*) AS blocks FROM skill_blocks WHERE tenant = $1 GROUP BY state",
        );
        let rows = self
            .store
            .db()
            .fetch_all(sql.bind(self.tenant.as_str()))
            .await;
        let rows = rows.unwrap();
        let blocks = rows
            .iter()
            .map(|row| (row.text("state").unwrap(), row.int("blocks").unwrap()));
        blocks.collect()
    }
}

pub(crate) fn new_config(database: Database) -> (StoreConfig, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = StoreConfig::local(folder.path());
    if database == Database::Postgres {
        config.database = POSTGRES.database();
    }
    (config, folder)
}

async fn open(database: Database) -> (Store, tempfile::TempDir) {
    let (config, folder) = new_config(database);
    (Store::open(&config).await.unwrap(), folder)
}

fn check_model(database: Database, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (store, _folder) = runtime.block_on(open(database));
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&actions(), |actions| {
            runtime.block_on(async {
                let mut case = Case::new(&store).await;
                for (action, crash) in &actions {
                    crash::after(*crash);
                    case.act(action).await;
                    crash::after(None);
                    case.check().await;
                }
            });
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_index_gives_what_ranking_in_memory_gives_on_sqlite() {
    check_model(Database::Sqlite, 40);
}

#[test]
fn the_index_gives_what_ranking_in_memory_gives_on_postgres() {
    check_model(Database::Postgres, 20);
}

/// Both databases, one after the other, with the same uploads.
#[test]
fn blocks_are_merged_and_what_is_merged_is_removed_later() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for database in [Database::Sqlite, Database::Postgres] {
        runtime.block_on(async {
            let (store, _folder) = open(database).await;
            let mut case = Case::new(&store).await;
            for number in 0..60u8 {
                case.create(&[number, number / 2, 7, number / 3, 200]).await;
                if number % 3 == 2 {
                    case.delete(usize::from(number) / 4).await;
                }
                store.merge_tenant(&case.tenant).await.unwrap();
                case.check().await;
            }
            let blocks = case.blocks().await;
            assert!((1..8).contains(&blocks["live"]), "{blocks:?}");
            assert!(blocks["retired"] > 8, "{blocks:?}");
            assert!(!blocks.contains_key("building"), "{blocks:?}");
            // At most 60 documents are live: one block has 40, one the rest.
            store.merge_quiet_tenant(&case.tenant).await.unwrap();
            let blocks = case.blocks().await;
            assert!((1..3).contains(&blocks["live"]), "{blocks:?}");
            case.check().await;
            let sql = Sql::new("UPDATE skill_blocks SET changed_at = 0");
            store.db().execute(sql).await.unwrap();
            store.merge_tenant(&case.tenant).await.unwrap();
            assert!(!case.blocks().await.contains_key("retired"));
            let sql = Sql::new(
                "SELECT COUNT(*) AS lost FROM skill_pages p WHERE NOT EXISTS
                     (SELECT 1 FROM skill_blocks b WHERE b.id = p.key >> 20)",
            );
            let row = store.db().fetch_optional(sql).await.unwrap().unwrap();
            assert_eq!(row.int("lost").unwrap(), 0);
            case.check().await;
        });
    }
}

#[test]
fn a_query_reads_its_blocks_and_pages_by_key() {
    let tenant = TenantId::default_tenant();
    assert_no_table_is_scanned([
        select_snapshot(Database::Sqlite, &tenant),
        select_terms(Database::Sqlite, &tenant, &[1, 2]),
        select_documents(&[1, 2]),
        select_pages(Database::Sqlite, &[1, 2]),
    ]);
}
