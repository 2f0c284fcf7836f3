//! The `prowess` command.

use std::process::ExitCode;

/// Checking skills allocates many small, short-lived strings on several threads: with the
/// system's allocator, that took a quarter of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The sandbox starts this binary again, to isolate itself and become the sandboxed
    // command. Then this call does not return.
    prowess_launcher::maybe_run();
    prowess::cli::main()
}
