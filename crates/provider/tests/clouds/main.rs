//! Providers in clouds, with credentials of every source, against stand-ins of the services over
//! HTTP. What happens when they expire is tested in simulated time, in `prowess-cloud`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests stop at the first surprise"
)]

mod aws;
mod azure;
#[path = "../common/mod.rs"]
mod common;
mod google;
mod visible;
