//! What `cargo xtask test` installs for these tests.

use std::path::{Path, PathBuf};

/// The scripts that the clients run.
pub(crate) fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk")
}

/// Where a client is: `target/sdk/NAME`.
pub(crate) fn installed(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("sdk").join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test` once, which installs it",
        path.display()
    );
    path
}
