//! The database is killed, and started again later.

use anyhow::Result;
use prowess_bench::server::{Server, Setup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, Prepared};
use super::postgres::{self, Postgres};

pub(crate) struct DatabaseKilled;

impl Fault for DatabaseKilled {
    fn name(&self) -> &'static str {
        "database-killed"
    }

    fn missing(&self) -> Option<String> {
        postgres::missing()
    }

    fn prepare(&self, _: &Runtime) -> Result<Prepared> {
        let postgres = Postgres::start()?;
        let mut setup = Setup::new()?;
        let url = postgres.url();
        setup.config = format!("[sandbox]\nreduced = true\n[store]\nurl = \"{url}\"\n");
        let injector = Box::new(Killed(postgres));
        Ok(Prepared { setup, injector })
    }
}

struct Killed(Postgres);

impl Injector for Killed {
    fn inject(&mut self, _: &Server) -> Result<()> {
        self.0.kill()
    }

    fn undo(&mut self, _: &Server) -> Result<()> {
        self.0.restart()
    }
}
