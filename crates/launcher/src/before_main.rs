//! Becomes a launcher process before `main`, in every program that this crate is linked
//! into, if the program was started as one. So no program that uses the sandbox has to do
//! anything in its `main`, and the launcher has one thread and nothing of the program's.
//!
//! The C library calls the functions listed in `.init_array` when a program starts and when
//! a library is loaded, before Rust's own set-up: standard streams that are closed stay
//! closed, and a broken pipe still kills. The broker starts with all three streams open,
//! and sets the signal itself. In any other process this is one comparison of strings.
#![expect(
    unsafe_code,
    reason = "the attribute that lists the function, and the arguments it gets"
)]

use crate::broker;
use crate::spec::ARG0;

/// `#[used]` keeps it in a program that names nothing of this crate.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: system::InitFunction = system::before_main;

/// A panic ends the process, with its message on standard error: it cannot unwind out of
/// a function of the C library.
fn run_if_launcher(program_name: &[u8]) {
    if program_name == ARG0.as_bytes() {
        broker::run();
    }
}

/// The GNU C library passes the arguments of `main`.
#[cfg(target_env = "gnu")]
mod system {
    use super::run_if_launcher;
    use libc::{c_char, c_int};
    use std::ffi::CStr;

    pub(super) type InitFunction = extern "C" fn(c_int, *const *const c_char);

    pub(super) extern "C" fn before_main(argc: c_int, argv: *const *const c_char) {
        if argc < 1 || argv.is_null() {
            return;
        }
        // SAFETY: `argv` has `argc` pointers, of which there is at least one.
        let name = unsafe { *argv };
        if name.is_null() {
            return;
        }
        // SAFETY: it points to a string that ends in a zero byte and is not changed while
        // this runs, because nothing else does.
        let name = unsafe { CStr::from_ptr(name) };
        run_if_launcher(name.to_bytes());
    }
}

/// Other C libraries pass nothing, so the name is read from the process table. A launcher
/// starts with an empty environment; most other programs are recognized by that.
#[cfg(not(target_env = "gnu"))]
mod system {
    use super::run_if_launcher;

    pub(super) type InitFunction = extern "C" fn();

    pub(super) extern "C" fn before_main() {
        if std::env::vars_os().next().is_none()
            && let Ok(arguments) = std::fs::read("/proc/self/cmdline")
            && let Some(name) = arguments.split(|byte| *byte == 0).next()
        {
            run_if_launcher(name);
        }
    }
}
