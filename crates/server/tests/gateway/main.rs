//! The model gateway over HTTP: clients of four dialects, a mock upstream of each
//! vendor, and a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at the first surprise"
)]

mod agents;
mod attack_memory;
mod auto;
mod auto_labels;
mod background;
mod bodies;
mod chats;
mod clouds;
mod cluster;
mod compacting;
mod conversations;
mod deployments;
mod dropped;
mod embeddings;
mod endpoints;
mod failing;
mod gateway;
mod gemini;
mod hosted;
mod hybrid;
mod incomplete;
mod leaving;
mod limits;
mod litellm;
mod lost_access;
mod max_turns;
mod models;
mod nested_arguments;
mod otlp;
mod passing;
mod pinging;
mod prices;
mod references;
mod releases;
mod reload;
mod runs;
mod skill_usage;
mod skills;
mod socket;
mod stored;
mod talking;
mod tenants;
mod traces;
mod unmatched;
mod usage;
mod watching;
