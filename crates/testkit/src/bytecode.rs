//! What Python makes of the modules that programs of tests import, kept from one process to the
//! next.
//!
//! Packages are installed without it, since tests import a small part of them. Programs that may
//! not write it compile all modules again each time that they start, which takes them longer than
//! everything else they do. Knows nothing about the programs.

use std::process::Command;

use crate::kept_folder::kept_folders;

/// Has a Python program keep its compiled modules below the target folder: none is written beside
/// a source.
pub fn keep_bytecode(program: &mut Command) -> &mut Command {
    if let Some(kept) = kept_folders() {
        program
            .env("PYTHONPYCACHEPREFIX", kept.join("python-bytecode"))
            .env_remove("PYTHONDONTWRITEBYTECODE");
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_its_modules_though_the_caller_forbids_it() {
        let mut python = Command::new("python3");
        python.env("PYTHONDONTWRITEBYTECODE", "1");
        let program = "import sys; print(sys.pycache_prefix, sys.dont_write_bytecode)";
        let output = keep_bytecode(&mut python).args(["-c", program]).output();
        let kept = kept_folders().unwrap().join("python-bytecode");
        let expected = format!("{} False\n", kept.display());
        assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout), expected);
    }
}
