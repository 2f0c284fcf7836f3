//! Containers of a cluster.

mod commands;
mod concurrency;
mod containers;
mod contents;
mod kept_runs;
mod setup;
mod uploads;
