//! The disk with all data of the server is full, and has room again later.

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result};
use prowess_bench::server::{BenchServer, ServerSetup};
use tokio::runtime::Runtime;

use super::fault::{Fault, Injector, PreparedFault};
use prowess_bench::programs;

/// Mounts a small file system where the server keeps its data, which nobody else sees.
const MOUNT: &str = r#"mount -t tmpfs -o size=256m tmpfs "$0" && exec "$@""#;
const FILLER: &str = "data/filler";
/// The file is written in pieces of these sizes, each until no more fits.
const PIECES: [usize; 3] = [1 << 20, 1 << 12, 1];
/// More than fits in any case.
const MAX_FILLER_PIECES: usize = 1 << 14;

pub(crate) struct DiskFull;

impl Fault for DiskFull {
    fn name(&self) -> &'static str {
        "disk-full"
    }

    fn missing(&self) -> Option<String> {
        if !programs::is_root() {
            return Some("needs root, to mount a small file system".to_owned());
        }
        programs::missing(&["unshare", "nsenter", "mount"])
    }

    fn prepare(&self, _: &Runtime) -> Result<PreparedFault> {
        let mut setup = ServerSetup::new()?;
        setup.config = "[sandbox]\nreduced = true\n".to_owned();
        let shell = ["unshare", "--mount", "sh", "-c", MOUNT];
        setup.wrapper = programs::words(&shell, Some(&setup.data_dir()));
        setup.own_mounts = true;
        let injector = Box::new(Filler);
        Ok(PreparedFault { setup, injector })
    }
}

struct Filler;

impl Injector for Filler {
    fn inject(&mut self, server: &BenchServer) -> Result<()> {
        let mut file = File::create(server.host_path(FILLER)).context("no filler")?;
        for size in PIECES {
            let piece = vec![b'x'; size];
            for _ in 0..MAX_FILLER_PIECES {
                if file.write_all(&piece).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn undo(&mut self, server: &BenchServer) -> Result<()> {
        std::fs::remove_file(server.host_path(FILLER)).context("the filler stays")
    }
}
