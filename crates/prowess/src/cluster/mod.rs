//! A cluster, as the configuration describes it: what a gateway and a worker are started with.
//!
//! | module | owns |
//! |---|---|
//! | `connection` | settings of the connection to NATS servers, and a check of it |
//! | `join` | makes this process a gateway of the cluster |
//! | `names` | names of gateways and workers that have none |
//! | `view` | what a server shows of the workers |
//! | `worker` | settings of a worker |
//! | `worker_traces` | its commands as spans |
//!
//! Commands are placed by `prowess_cluster`, and run by `prowess_worker`.

mod connection;
mod join;
mod names;
mod view;
mod worker;
mod worker_traces;

pub use connection::check_connection;
pub(crate) use join::{ClusterConnection, join};
pub use worker::{WorkerOverrides, WorkerSetup, worker_setup};
pub use worker_traces::WorkerTraces;
