//! The `prowess` command.

use std::process::ExitCode;

/// Many small, short-lived pieces of text on several threads: a quarter of the
/// time of checking a tree of skills went into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The sandbox starts this same binary again, to isolate itself and become the
    // sandboxed command. Then this call does not return.
    prowess_launcher::maybe_run();
    prowess::cli::main()
}
