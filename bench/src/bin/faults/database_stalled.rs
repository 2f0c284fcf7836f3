//! The database stalls: its connections stay open and nothing responds.

use anyhow::Result;
use prowess_bench::server::postgres::{self, BenchPostgres};
use prowess_bench::server::{BenchServer, ServerSetup};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};

pub(crate) struct DatabaseStalled;

impl Fault for DatabaseStalled {
    fn name(&self) -> &'static str {
        "database-stalled"
    }

    fn missing(&self) -> Option<String> {
        postgres::missing()
    }

    fn prepare(&self, _: &Runtime) -> Result<PreparedFault> {
        let postgres = BenchPostgres::start(&["fsync=off"])?;
        let mut setup = ServerSetup::new()?;
        let url = postgres.url();
        setup.config = format!("[sandbox]\nreduced = true\n[store]\nurl = \"{url}\"\n");
        let injector = Box::new(StallInjector(postgres));
        Ok(PreparedFault { setup, injector })
    }
}

struct StallInjector(BenchPostgres);

impl Injector for StallInjector {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.signal(Signal::STOP)
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.signal(Signal::CONT)
    }
}
