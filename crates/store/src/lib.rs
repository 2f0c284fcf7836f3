//! Persistent storage: skills, versions, files, keys, runs, usage and tenants in SQLite or
//! PostgreSQL, with one set of queries, and their content by digest.
//!
//! This crate handles rows and bytes, not HTTP or any vendor's JSON. Where the vendors' API
//! generations differ in meaning, the caller selects the rule ([`SkillDeleteRule`],
//! [`VersionDeleteRule`], [`NewSkill::unique_title`], …).
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # runtime.block_on(async {
//! use prowess_skill::{LoadOptions, Skill};
//! use prowess_store::{NewSkill, PageRequest, Store, StoreConfig, TenantId, VersionSelector};
//!
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(&StoreConfig::local(folder.path())).await?;
//! let tenant = TenantId::default_tenant();
//!
//! let text = "---\nname: pdf-forms\ndescription: Fills in PDF forms.\n---\nUse `fill.py`.\n";
//! let skill = Skill::from_text(text, &LoadOptions::default()).skill.expect("it is valid");
//! let uploaded = store.create_skill(&tenant, &NewSkill::from_skill(&skill)).await?;
//! assert_eq!(uploaded.version.ordinal, 1);
//!
//! let hits = store.search_skills(&tenant, "fill form", &PageRequest::default()).await?;
//! assert_eq!(hits.items[0].skill.id, uploaded.skill.id);
//!
//! let latest = VersionSelector::Latest;
//! let resolved = store.resolve(&tenant, &uploaded.skill.id, &latest).await?;
//! assert_eq!(resolved.detail.body, "Use `fill.py`.");
//! let loaded = store.load(&resolved).await?;
//! assert_eq!(loaded.manifest, skill.manifest);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `store`, `config` | opening a store, and the state shared by all operations |
//! | `db` | SQLite and PostgreSQL behind one kind of statement; the schema |
//! | `blob` | content by digest: staging, activating, reading |
//! | `skills` | skills and versions: upload, get, list, search, default, labels, revoke, delete |
//! | `skill_index` | the index of skills' words: what searching and routing read |
//! | `skill_vectors` | vectors of skills, and which documents have them |
//! | `resolve` | from an id to a loaded skill, mostly from a cache |
//! | `loaded_skills` | the skills in memory, each once |
//! | `cache_drops` | caches that processes drop for one another |
//! | `runs`, `containers`, `hidden_turns` | runs as people read them, their containers, and turns that a dialect cannot carry |
//! | `foreground_runs` | runs in progress that end when their client leaves |
//! | `journal` | kept runs: their steps, leases, events, container files and webhooks |
//! | `cluster` | containers of a cluster: their files, skills, commands, and contents for workers |
//! | `batches` | batches of requests, their items and results |
//! | `files`, `keys`, `key_limits`, `tenant` | files, virtual keys and their limits, tenants |
//! | `console_sessions` | which browser is signed in with which key |
//! | `tenant_summary` | what each tenant has and did |
//! | `audit` | the audit log: who changed what, when and from where |
//! | `provider_files` | which provider stores a file, and for which tenant |
//! | `usage`, `responses`, `items` | usage of models; stored responses and their items |
//! | `skill_costs` | what skills took of that usage; which of them were offered, loaded and used |
//! | `conversations`, `conversation_items`, `conversation_inserts`, `chats` | stored conversations and chat completions |
//! | `quota`, `growth`, `disk_space`, `upload_check` | storage limits of tenants and of the disk |
//! | `readiness`, `schema_level`, `lost_database`, `outage` | whether the store is writable, up to date, was lost, or is unreachable |
//! | `past_hours` | sums of usage of hours that are over, in memory |
//! | `gc` | collecting unreferenced content and expired records |
//! | `page`, `id`, `time`, `error` | pagination, ids, timestamps, errors |
//!
//! # Guarantees
//!
//! - Every operation names a tenant; another tenant's id is *not found*.
//! - An upload becomes visible as a whole or not at all; once acknowledged it is durable,
//!   even if the process is killed at any moment.
//! - Listing, getting, searching and resolving read no content.

mod audit;
mod batches;
mod blob;
mod cache_drops;
mod chats;
mod cluster;
mod config;
mod console_sessions;
mod containers;
mod conversation_inserts;
mod conversation_items;
mod conversations;
mod db;
mod disk_space;
mod error;
mod files;
mod foreground_runs;
mod gc;
mod growth;
mod hidden_turns;
mod id;
mod items;
mod journal;
mod key_limits;
mod keys;
mod loaded_skills;
mod lost_database;
mod outage;
mod page;
mod past_hours;
mod provider_files;
mod quota;
mod readiness;
mod resolve;
mod responses;
mod runs;
mod schema_level;
mod skill_costs;
mod skill_index;
mod skill_vectors;
mod skills;
mod store;
mod tenant;
mod tenant_summary;
mod time;
mod upload_check;
mod usage;

pub use audit::{
    AuditAction, AuditActor, AuditEvent, AuditFilter, AuditOrigin, AuditOutcome, NewAuditEvent,
};
pub use batches::{
    AddItemsOutcome, BatchConcurrency, BatchCounts, BatchFiles, BatchItemRef, BatchItemResult,
    BatchItemRun, BatchItemState, BatchKind, BatchLimits, BatchRecord, BatchResult, BatchState,
    CreateBatchOutcome, DuplicateItem, FinishOutcome, NewBatch, NewBatchItem, UnsubmittedItem,
};
pub use blob::ContentStream;
pub use cache_drops::{CacheDrop, CacheKind};
pub use chats::{ChatFilter, ChatPage, ChatRecord, NewChat};
pub use cluster::{
    BeginCommandOutcome, ClusterContainer, ClusterContainerSummary, ClusterSkill, ClusterSkillFile,
    CommandCommit, CommitCommandOutcome, ContainerQuota, ContainerUpdate, ContainerUser,
    CreateContainerOutcome, NewClusterContainer, OpenedContainerFile, SignedContent,
    UpdateContainerOutcome, UploadSlot,
};
pub use config::StoreConfig;
pub use console_sessions::{ConsoleHolder, ConsoleSessionHolder};
pub use containers::ContainerRecord;
pub use conversation_inserts::{MAX_CONVERSATION_BYTES, MAX_CONVERSATION_ITEMS};
pub use conversations::{ConversationRecord, NewConversation};
pub use db::Database;
pub use disk_space::free_bytes;
pub use error::{Error, ResourceKind, Result};
pub use files::{FileFilter, FileRecord, NewFile};
pub use foreground_runs::{EndedForegroundRun, ForegroundRun};
pub use gc::GarbageReport;
pub use items::NewItem;
pub use journal::{
    AppendOutcome, BeginOutcome, CancelOutcome, ClaimedRun, ContainerChange, ContainerEntry,
    ContainerFiles, EndOutcome, EntryContent, EventChunk, HoldOutcome, JournalRun, JournalStep,
    LeaseStatus, NewEventChunk, NewJournalRun, NewStep, NewWebhook, RunLease, RunResult, RunState,
    StagedContent, StagedFile, StagingPlace, StepChanges, StepKind, WebhookDelivery,
};
pub use key_limits::{BudgetPeriod, KeyBudget, KeyLimits};
pub use keys::{KeyChange, KeyGranter, KeyRecord, KeyScope, NewKey, SecretKey};
pub use page::{
    MAX_PAGE_ITEMS, MAX_PAGE_OFFSET, PageCursor, PagePosition, PageRequest, RecordPage, SortOrder,
};
pub use provider_files::FileAccount;
pub use prowess_ranking::{Field, Int8Vector, MAX_QUERY_CHARS, MatchedWord, OverlapRanks};
pub use quota::{StorageLimits, StorageUsage};
pub use readiness::ReadinessFailure;
pub use resolve::ResolvedSkill;
pub use responses::{NewResponse, ResponseRecord};
pub use runs::{KeptProgress, NewRun, RunDetail, RunFilter, RunRecord, RunSkillName};
pub use schema_level::SchemaLevel;
pub use skill_costs::{
    NamedSkillCost, PartCost, RunCounts, SkillCost, SkillCostSums, SkillRuns, SkillRunsFilter,
    add_skill_costs,
};
pub use skill_vectors::{QueryVector, SkillSearch, UnembeddedSkill};
pub use skills::{
    DeletedVersion, LabelName, LabelRecord, LabelledVersion, LastVersionRule, MAX_ROUTED_SKILLS,
    NewRevocation, NewSkill, NewVersion, Revocation, RoutedSkill, ScanRecord, SearchHit,
    SkillDeleteRule, SkillFilter, SkillOverlap, SkillRecord, SkillSource, UnchangedRule,
    UploadOutcome, UploadedVersion, VersionDeleteRule, VersionDetail, VersionRecord, VersionRef,
    VersionSelector,
};
pub use store::Store;
pub use tenant::{TenantId, TenantRecord};
pub use tenant_summary::TenantSummary;
pub use time::Timestamp;
pub use usage::{UsageBatch, UsageGrouping, UsageQuery, UsageRow, UsageSum};
