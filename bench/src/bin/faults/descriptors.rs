//! Silent connections from another address take all descriptors that the server may have.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Result;
use prowess_bench::server::{BenchServer, ServerSetup, silent};
use prowess_bench::stop::StopSource;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use super::fault::{Fault, Injector, PreparedFault};
use prowess_bench::programs;

/// What the server may have, and as many connections and some more.
const LIMIT: &str = "--nofile=512:512";
const CONNECTIONS: usize = 640;
const TIME_LIMIT: Duration = Duration::from_secs(1_800);
const OTHER_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

pub(crate) struct Descriptors;

impl Fault for Descriptors {
    fn name(&self) -> &'static str {
        "descriptors"
    }

    fn missing(&self) -> Option<String> {
        programs::missing(&["prlimit"])
    }

    fn prepare(&self, runtime: &Runtime) -> Result<PreparedFault> {
        let mut setup = ServerSetup::new()?;
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        setup.wrapper = programs::words(&["prlimit", LIMIT], None);
        let injector = Box::new(Connections {
            handle: runtime.handle().clone(),
            held: None,
        });
        Ok(PreparedFault { setup, injector })
    }
}

struct Connections {
    handle: Handle,
    held: Option<(StopSource, JoinHandle<u64>)>,
}

impl Injector for Connections {
    fn inject(&mut self, server: &BenchServer) -> Result<()> {
        let _context = self.handle.enter();
        let (source, stop) = StopSource::within(TIME_LIMIT);
        let endpoint = server.endpoint(OTHER_ADDRESS);
        let holding = self
            .handle
            .spawn(silent::hold(endpoint, CONNECTIONS, b"", stop));
        self.held = Some((source, holding));
        Ok(())
    }

    fn undo(&mut self, _: &BenchServer) -> Result<()> {
        if let Some((source, holding)) = self.held.take() {
            source.stop();
            self.handle.block_on(holding)?;
        }
        Ok(())
    }
}
