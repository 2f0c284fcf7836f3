//! The `prowess` command.

use std::process::ExitCode;

/// Many small, short-lived pieces of text on several threads: a quarter of the
/// time of checking a tree of skills went into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    prowess::cli::main()
}
