//! The object store is gone: connections to it are refused.

use anyhow::Result;
use prowess_bench::server::BenchServer;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};
use super::relay::RelayState;
use super::s3::{self, FaultS3};

pub(crate) struct S3Gone;

impl Fault for S3Gone {
    fn name(&self) -> &'static str {
        "s3-gone"
    }

    fn missing(&self) -> Option<String> {
        s3::missing()
    }

    fn prepare(&self, runtime: &Runtime) -> Result<PreparedFault> {
        let s3 = FaultS3::start(runtime)?;
        let setup = s3.setup()?;
        let injector = Box::new(RelayCloser(s3));
        Ok(PreparedFault { setup, injector })
    }
}

struct RelayCloser(FaultS3);

impl Injector for RelayCloser {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.relay.set(RelayState::Gone);
        Ok(())
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.relay.set(RelayState::On);
        Ok(())
    }
}
