//! The reader of the server's log stands still, and goes on later.

use anyhow::Result;
use prowess_bench::server::{Server, Setup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, Prepared};
use super::log_pipe::{LogPipe, Reading};

pub(crate) struct LogStalled;

impl Fault for LogStalled {
    fn name(&self) -> &'static str {
        "log-stalled"
    }

    fn missing(&self) -> Option<String> {
        None
    }

    fn prepare(&self, _: &Runtime) -> Result<Prepared> {
        let mut setup = Setup::new()?;
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        // Every request is logged.
        setup.log = "info";
        let (pipe, stderr) = LogPipe::create(setup.place("log"))?;
        setup.stderr = stderr;
        let injector = Box::new(Reader(pipe));
        Ok(Prepared { setup, injector })
    }
}

struct Reader(LogPipe);

impl Injector for Reader {
    fn inject(&mut self, _: &Server) -> Result<()> {
        self.0.set(Reading::Stalled)
    }

    fn undo(&mut self, _: &Server) -> Result<()> {
        self.0.set(Reading::On)
    }
}
