//! The object store stalls: connections to it stay open, and nothing responds.

use anyhow::Result;
use prowess_bench::server::BenchServer;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};
use super::relay::RelayState;
use super::s3::{self, FaultS3};

pub(crate) struct S3Stalled;

impl Fault for S3Stalled {
    fn name(&self) -> &'static str {
        "s3-stalled"
    }

    fn missing(&self) -> Option<String> {
        s3::missing()
    }

    fn prepare(&self, runtime: &Runtime) -> Result<PreparedFault> {
        let s3 = FaultS3::start(runtime)?;
        let setup = s3.setup()?;
        let injector = Box::new(RelayStaller(s3));
        Ok(PreparedFault { setup, injector })
    }
}

struct RelayStaller(FaultS3);

impl Injector for RelayStaller {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.relay.set(RelayState::Stalled);
        Ok(())
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.relay.set(RelayState::On);
        Ok(())
    }
}
