//! Gateways under load: a model that responds at once, clients that send their next request
//! at once, and a gateway between them.
//!
//! [`model`] is the upstream, [`client`] the load; both implement HTTP/1.1 themselves, so
//! that they cost little and hide nothing. [`process`] starts a gateway and reads its CPU
//! time and memory from `/proc`; [`rivals`] sets each of them up. [`request`] sends single
//! requests of any kind and accepts any response.

pub mod client;
mod http1;
pub mod model;
pub mod process;
pub mod request;
pub mod rivals;
