//! Programs in place of those that draw pages of PDF files, in a root file system of their own. A
//! file decides how long they take, so that tests can have a page that is being drawn.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Copies programs of this host, and the libraries that they load, to a root file system.
const COPY: &str = r#"
set -e
mkdir -p usr/bin usr/lib usr/lib64
for name in bin lib lib64; do ln -s "usr/$name" "$name"; done
for program in "$@"; do
    found=$(command -v "$program")
    for file in "$found" $(ldd "$found" | grep -o '/[^ ]*'); do
        mkdir -p ".$(dirname "$file")"
        cp -L "$file" ".$file"
    done
done"#;

const PDFINFO: &str = "#!/bin/sh\necho 'Pages:          1'\n";

const PDFTOPPM: &str = "#!/bin/sh
read -r first < file.pdf
case $first in *slow*) exec sleep 600 ;; esac
exec cat /usr/page.png > page.png
";

/// The first and last bytes of a PNG file; the server checks no others.
const PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x09\x08\x02\0\0\0\0\0\0\0IEND\xaeB`\x82";

/// A root file system with a shell, and programs that draw every page in the same way.
#[derive(Debug)]
pub struct PdfPrograms {
    root: TempDir,
}

impl PdfPrograms {
    /// A file whose only page is drawn at once.
    pub const QUICK: &[u8] = b"%PDF-1.7 quick\n";
    /// A file whose only page takes longer than any server waits.
    pub const SLOW: &[u8] = b"%PDF-1.7 slow\n";

    /// Installs them.
    pub fn install() -> PdfPrograms {
        let root = tempfile::tempdir().unwrap();
        copy_programs(root.path(), &["sh", "cat", "sleep"]);
        for (name, text) in [("pdfinfo", PDFINFO), ("pdftoppm", PDFTOPPM)] {
            let program = root.path().join("usr/bin").join(name);
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(root.path().join("usr/page.png"), PICTURE).unwrap();
        PdfPrograms { root }
    }

    /// The root file system.
    pub fn root(&self) -> &Path {
        self.root.path()
    }
}

/// Copies programs of this host, and the libraries that they load, to an empty folder, which can
/// be the root of other processes then.
pub fn copy_programs(root: &Path, programs: &[&str]) {
    let mut command = Command::new("sh");
    command.args(["-c", COPY, "sh"]).args(programs);
    assert!(command.current_dir(root).status().unwrap().success());
}
