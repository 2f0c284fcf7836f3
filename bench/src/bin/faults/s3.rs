//! An object store that speaks S3, behind a relay that can be cut.

use anyhow::Result;
use prowess_bench::server::ServerSetup;
use prowess_bench::server::object_store::{self, BenchObjectStore};
use tokio::runtime::Runtime;

use super::relay::Relay;

pub(crate) use prowess_bench::server::object_store::missing;

/// A running store and the relay before it; both end when this is dropped.
pub(crate) struct FaultS3 {
    pub(crate) relay: Relay,
    _store: BenchObjectStore,
}

impl FaultS3 {
    /// Starts a store with an empty bucket.
    pub(crate) fn start(runtime: &Runtime) -> Result<FaultS3> {
        let store = runtime.block_on(BenchObjectStore::start())?;
        Ok(FaultS3 {
            relay: Relay::start(runtime, store.address())?,
            _store: store,
        })
    }

    /// A server that keeps all content here.
    pub(crate) fn setup(&self) -> Result<ServerSetup> {
        let mut setup = ServerSetup::new()?;
        let blobs = object_store::config(self.relay.address(), 0);
        setup.config = format!("[sandbox]\nreduced = true\n{blobs}");
        Ok(setup)
    }
}
