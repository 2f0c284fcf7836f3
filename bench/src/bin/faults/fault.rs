//! What a fault is: a server's setup, and an injector that breaks a part of it and undoes
//! that while the server runs.

use anyhow::Result;
use prowess_bench::server::{BenchServer, ServerSetup};
use tokio::runtime::Runtime;

use super::database_killed::DatabaseKilled;
use super::database_stalled::DatabaseStalled;
use super::descriptors::Descriptors;
use super::disk_full::DiskFull;
use super::log_gone::LogGone;
use super::log_stalled::LogStalled;
use super::s3_gone::S3Gone;
use super::s3_stalled::S3Stalled;

/// A kind of fault.
pub(crate) trait Fault {
    /// What it is called in the table and on the command line.
    fn name(&self) -> &'static str;

    /// Why it cannot be tried on this machine, if it cannot.
    fn missing(&self) -> Option<String>;

    /// Makes ready what is to be broken.
    fn prepare(&self, runtime: &Runtime) -> Result<PreparedFault>;
}

/// A server's setup, and what breaks the part of it that the fault is about.
pub(crate) struct PreparedFault {
    pub(crate) setup: ServerSetup,
    pub(crate) injector: Box<dyn Injector>,
}

/// Breaks a part, and undoes that.
pub(crate) trait Injector {
    /// Breaks the part.
    fn inject(&mut self, server: &BenchServer) -> Result<()>;

    /// Lets the part work again.
    fn undo(&mut self, server: &BenchServer) -> Result<()>;
}

/// All faults, in the order of the table.
pub(crate) fn all() -> Vec<Box<dyn Fault>> {
    vec![
        Box::new(DiskFull),
        Box::new(LogGone),
        Box::new(LogStalled),
        Box::new(Descriptors),
        Box::new(DatabaseStalled),
        Box::new(DatabaseKilled),
        Box::new(S3Gone),
        Box::new(S3Stalled),
    ]
}
