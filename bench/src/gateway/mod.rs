//! The gateway under load: a model that answers at once, clients that ask again at
//! once, and whatever stands between them.
//!
//! [`model`] is the upstream, [`client`] the load; both speak HTTP/1.1 by hand, so
//! that they cost little and hide nothing. [`process`] starts what stands between and
//! reads its processor time and memory from `/proc`; [`rivals`] knows how each of them
//! is set up. [`request`] sends single requests of any kind and takes any answer.

pub mod client;
mod http1;
pub mod model;
pub mod process;
pub mod request;
pub mod rivals;
