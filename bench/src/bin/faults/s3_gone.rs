//! The object store is gone: connections to it are refused.

use anyhow::Result;
use prowess_bench::server::Server;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, Prepared};
use super::relay::Relaying;
use super::s3::{self, S3};

pub(crate) struct S3Gone;

impl Fault for S3Gone {
    fn name(&self) -> &'static str {
        "s3-gone"
    }

    fn missing(&self) -> Option<String> {
        s3::missing()
    }

    fn prepare(&self, runtime: &Runtime) -> Result<Prepared> {
        let s3 = S3::start(runtime)?;
        let setup = s3.setup()?;
        let injector = Box::new(Gone(s3));
        Ok(Prepared { setup, injector })
    }
}

struct Gone(S3);

impl Injector for Gone {
    fn inject(&mut self, _: &Server) -> Result<()> {
        self.0.relay.set(Relaying::Gone);
        Ok(())
    }

    fn undo(&mut self, _: &Server) -> Result<()> {
        self.0.relay.set(Relaying::On);
        Ok(())
    }
}
