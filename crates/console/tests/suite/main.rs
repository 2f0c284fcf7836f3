//! The console over HTTP, in one process: its router over a server with a store in a temporary
//! folder and a scripted model, and requests as a browser sends them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test stops at the first surprise"
)]

mod admin;
mod browser;
mod containers;
mod files;
mod pdf;
mod playground;
mod runs;
mod sign_in;
mod skills;
mod slow_forms;
mod upload;
