//! The model gateway over HTTP: clients of four dialects, a mock upstream of each
//! vendor, and a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test stops at the first surprise"
)]

mod bodies;
mod dropped;
mod failing;
mod gateway;
mod gemini;
mod leaving;
mod limits;
mod models;
mod passing;
mod pinging;
mod runs;
mod skills;
mod stored;
mod talking;
mod tenants;
mod traces;
mod usage;
