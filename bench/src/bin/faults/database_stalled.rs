//! The database stands still: its connections stay open and nothing answers on them.

use anyhow::Result;
use prowess_bench::server::{Server, Setup};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, Prepared};
use super::postgres::{self, Postgres};

pub(crate) struct DatabaseStalled;

impl Fault for DatabaseStalled {
    fn name(&self) -> &'static str {
        "database-stalled"
    }

    fn missing(&self) -> Option<String> {
        postgres::missing()
    }

    fn prepare(&self, _: &Runtime) -> Result<Prepared> {
        let postgres = Postgres::start()?;
        let mut setup = Setup::new()?;
        let url = postgres.url();
        setup.config = format!("[sandbox]\nreduced = true\n[store]\nurl = \"{url}\"\n");
        let injector = Box::new(Stalled(postgres));
        Ok(Prepared { setup, injector })
    }
}

struct Stalled(Postgres);

impl Injector for Stalled {
    fn inject(&mut self, _: &Server) -> Result<()> {
        self.0.signal(Signal::STOP)
    }

    fn undo(&mut self, _: &Server) -> Result<()> {
        self.0.signal(Signal::CONT)
    }
}
