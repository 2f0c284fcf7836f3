//! The object store stands still: connections to it stay open, and nothing answers.

use anyhow::Result;
use prowess_bench::server::Server;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, Prepared};
use super::relay::Relaying;
use super::s3::{self, S3};

pub(crate) struct S3Stalled;

impl Fault for S3Stalled {
    fn name(&self) -> &'static str {
        "s3-stalled"
    }

    fn missing(&self) -> Option<String> {
        s3::missing()
    }

    fn prepare(&self, runtime: &Runtime) -> Result<Prepared> {
        let s3 = S3::start(runtime)?;
        let setup = s3.setup()?;
        let injector = Box::new(Stalled(s3));
        Ok(Prepared { setup, injector })
    }
}

struct Stalled(S3);

impl Injector for Stalled {
    fn inject(&mut self, _: &Server) -> Result<()> {
        self.0.relay.set(Relaying::Stalled);
        Ok(())
    }

    fn undo(&mut self, _: &Server) -> Result<()> {
        self.0.relay.set(Relaying::On);
        Ok(())
    }
}
