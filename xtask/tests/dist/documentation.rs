//! The commands that README.md and docs/install.md show work in the bare root. Those of
//! docs/containers.md run in `container.rs`.

use std::os::unix::fs::PermissionsExt;

use super::bare_root::{has_root, run};
use super::{artefacts, installed, repository};

/// The texts of a page's blocks in a language.
pub(super) fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository().join(page)).unwrap();
    let fence = format!("```{language}");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let block = lines.by_ref().take_while(|line| !line.starts_with("```"));
            let block: Vec<&str> = block.collect();
            if line == fence {
                blocks.push(block.join("\n") + "\n");
            }
        }
    }
    blocks
}

/// Runs commands in a folder that has the artefacts where a checkout has them.
fn run_commands(commands: &str) {
    let folder = tempfile::tempdir().unwrap();
    for from in [artefacts(), installed("wheels")] {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    // Inside there is only root, and Debian's Python installs into environments alone.
    let script = format!(
        "#!/bin/bash\nset -euo pipefail\n\
         sudo() {{ \"$@\"; }}\n\
         pip() {{ python3 -m venv /opt/python && /opt/python/bin/pip \"$@\"; }}\n\
         mkdir -p /root/checkout/target/dist && cd /root/checkout\n\
         ln -s /artefacts target/dist/artefacts\n\
         {commands}\necho '== all of it works'\n"
    );
    let program = folder.path().join("commands.sh");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    run("/artefacts/commands.sh", folder.path());
}

#[test]
fn the_page_about_installation_works() {
    if !has_root() {
        return;
    }
    let commands = blocks("docs/install.md", "sh");
    assert_eq!(commands.len(), 3);
    run_commands(&commands.concat());
}

#[test]
fn the_first_lines_of_the_readme_install() {
    if !has_root() {
        return;
    }
    let commands = blocks("README.md", "sh");
    let install = commands.first().unwrap();
    assert_eq!(install.lines().count(), 3, "{install}");
    let check = "/opt/python/bin/prowess --version\n/usr/bin/prowess --version\n\
                 ~/.local/bin/prowess --version\n";
    run_commands(&format!("{install}{check}"));
}
