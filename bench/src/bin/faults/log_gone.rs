//! The reader of the server's log leaves, and another one comes later.

use anyhow::Result;
use prowess_bench::server::{BenchServer, ServerSetup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};
use super::log_pipe::{LogPipe, PipeState};

pub(crate) struct LogGone;

impl Fault for LogGone {
    fn name(&self) -> &'static str {
        "log-gone"
    }

    fn missing(&self) -> Option<String> {
        None
    }

    fn prepare(&self, _: &Runtime) -> Result<PreparedFault> {
        let mut setup = ServerSetup::new()?;
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        // Every request is logged.
        setup.log = "info";
        let (pipe, stderr) = LogPipe::create(setup.path("log"))?;
        setup.stderr = stderr;
        let injector = Box::new(ReaderCloser(pipe));
        Ok(PreparedFault { setup, injector })
    }
}

struct ReaderCloser(LogPipe);

impl Injector for ReaderCloser {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.set(PipeState::Gone)
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.set(PipeState::On)
    }
}
