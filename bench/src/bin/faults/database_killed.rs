//! The database is killed, and started again later.

use anyhow::Result;
use prowess_bench::server::postgres::{self, BenchPostgres};
use prowess_bench::server::{BenchServer, ServerSetup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};

pub(crate) struct DatabaseKilled;

impl Fault for DatabaseKilled {
    fn name(&self) -> &'static str {
        "database-killed"
    }

    fn missing(&self) -> Option<String> {
        postgres::missing()
    }

    fn prepare(&self, _: &Runtime) -> Result<PreparedFault> {
        let postgres = BenchPostgres::start(&["fsync=off"])?;
        let mut setup = ServerSetup::new()?;
        let url = postgres.url();
        setup.config = format!("[sandbox]\nreduced = true\n[store]\nurl = \"{url}\"\n");
        let injector = Box::new(KillInjector(postgres));
        Ok(PreparedFault { setup, injector })
    }
}

struct KillInjector(BenchPostgres);

impl Injector for KillInjector {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.kill()
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.restart()
    }
}
