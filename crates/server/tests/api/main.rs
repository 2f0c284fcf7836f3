//! The whole API over HTTP, in one process: the HTTP service, a store in a temporary folder,
//! and requests as the vendors' clients send them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test stops at the first surprise"
)]

mod admin;
mod auth;
mod batches;
mod change_limit;
mod client;
mod cluster;
mod cluster_containers;
mod connections;
mod discovery;
mod endless_forms;
mod errors;
mod file_space;
mod files;
mod in_flight;
mod leaks;
mod lost_access;
mod mcp_memory;
mod openapi;
mod overlap;
mod owned_objects;
mod paging;
mod previews;
mod releases;
mod running;
mod shutdown;
mod skill_fields;
mod skills;
mod uploads;
mod upstream;
mod webhooks;
