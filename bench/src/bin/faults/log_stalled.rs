//! The reader of the server's log stalls, and continues later.

use anyhow::Result;
use prowess_bench::server::{BenchServer, ServerSetup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};
use super::log_pipe::{LogPipe, PipeState};

pub(crate) struct LogStalled;

impl Fault for LogStalled {
    fn name(&self) -> &'static str {
        "log-stalled"
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
        let injector = Box::new(ReaderStaller(pipe));
        Ok(PreparedFault { setup, injector })
    }
}

struct ReaderStaller(LogPipe);

impl Injector for ReaderStaller {
    fn inject(&mut self, _: &BenchServer) -> Result<()> {
        self.0.set(PipeState::Stalled)
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        self.0.set(PipeState::On)
    }
}
