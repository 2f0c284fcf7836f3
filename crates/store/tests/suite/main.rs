//! The guarantees of the store, tested on both databases.
//!
//! Every behaviour is one `async fn(TestBed)`, which [`on_both_databases!`] turns into a
//! test on SQLite and one on a real PostgreSQL.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and a child process prints to its parent"
)]

mod testbed;

mod attack_data;
mod audit;
mod batches;
mod bucket_access;
mod cache_drops;
mod chats;
mod cluster;
mod collecting;
mod console_sessions;
mod container_files;
mod conversations;
mod crash;
mod deleting;
mod disk;
mod files;
mod foreground_runs;
mod items;
mod journal;
mod kept_run_quotas;
mod keys;
mod lost_database;
mod lost_runs;
mod object_store;
mod outages;
mod pages;
mod provider_files;
mod quotas;
mod releases;
mod resolving;
mod runs;
mod same_order;
mod searching;
mod skill_costs;
mod skill_vectors;
mod starting;
mod tenants;
mod uploading;
mod usage;
mod versions;
