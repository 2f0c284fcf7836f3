//! The `prowess` command.

use std::process::ExitCode;

/// Checking skills allocates many small, short-lived strings on several threads: with the
/// system's allocator, that took a quarter of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    prowess_cli::main()
}
