//! The versions that a runtime has, read from its own records of installed packages.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::error::{AtPlace, RuntimeError};
use super::folders::{NODE_MODULES, python_folders};
use super::tool::disk_bytes;

/// Maximum nesting of npm packages.
const MAX_DEPTH: usize = 32;

/// The versions of all packages of a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeLock {
    /// The release of Debian or Ubuntu.
    pub suite: String,
    /// When it was installed, in seconds since the epoch.
    pub installed_at: u64,
    /// Its size on disk, in bytes.
    pub bytes: u64,
    /// Debian packages.
    pub debian: BTreeMap<String, String>,
    /// Python packages.
    pub python: BTreeMap<String, String>,
    /// npm packages; one that another brings for itself is below that one's name.
    pub npm: BTreeMap<String, String>,
}

impl RuntimeLock {
    /// Reads the versions of a root file system.
    pub(super) fn read(root: &Path, suite: &str) -> Result<Self, RuntimeError> {
        let status = root.join("var/lib/dpkg/status");
        let status = fs::read(&status).at_place("cannot read the installed packages", &status)?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(Self {
            suite: suite.to_owned(),
            installed_at: now.map_or(0, |now| now.as_secs()),
            bytes: disk_bytes(root),
            debian: debian_versions(&String::from_utf8_lossy(&status)),
            python: python_versions(root),
            npm: npm_versions(root),
        })
    }
}

/// Installed packages of dpkg's status file: paragraphs of fields.
fn debian_versions(status: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for paragraph in status.split("\n\n") {
        let field = |name: &str| {
            let mut lines = paragraph.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let installed = field("Status").is_some_and(|status| status.ends_with(" installed"));
        if let (true, Some(name), Some(version)) = (installed, field("Package"), field("Version")) {
            found.insert(name.to_owned(), version.to_owned());
        }
    }
    found
}

/// Packages by the names of their metadata folders: `NAME-VERSION.dist-info`.
fn python_versions(root: &Path) -> BTreeMap<String, String> {
    let folders = python_folders(root).into_iter();
    let entries = folders.flat_map(|folder| {
        let entries = fs::read_dir(folder.join("dist-packages"));
        entries.into_iter().flatten().flatten()
    });
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (name, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect()
}

/// Packages by their own `package.json`, also those that a package brings for itself.
fn npm_versions(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![(root.join(NODE_MODULES), String::new(), 0)];
    while let Some((folder, prefix, depth)) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || name.starts_with('.') || depth > MAX_DEPTH {
                continue;
            }
            let (place, shown) = (entry.path(), format!("{prefix}{name}"));
            let below = format!("{shown}/");
            if name.starts_with('@') {
                // A scope: a folder of packages.
                waiting.push((place, below, depth + 1));
                continue;
            }
            if let Some(version) = npm_version(&place) {
                found.insert(shown, version);
            }
            waiting.push((place.join("node_modules"), below, depth + 1));
        }
    }
    found
}

/// The version of the package in a folder.
fn npm_version(package: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct NpmManifest {
        version: String,
    }
    let text = fs::read(package.join("package.json")).ok()?;
    let manifest: NpmManifest = serde_json::from_slice(&text).ok()?;
    Some(manifest.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_are_read_with_their_versions() {
        let status = "Package: a\nStatus: install ok installed\nVersion: 1:2-3\nDescription: x\n \
                      Version: no\n\nPackage: b\nStatus: deinstall ok config-files\nVersion: 1\n";
        let expected = BTreeMap::from([("a".to_owned(), "1:2-3".to_owned())]);
        assert_eq!(debian_versions(status), expected);
        let root = tempfile::tempdir().unwrap();
        for (path, version) in [("@a/b", "1.0.0"), ("@a/b/node_modules/c", "2.0.0")] {
            let package = root.path().join(NODE_MODULES).join(path);
            fs::create_dir_all(&package).unwrap();
            let manifest = format!("{{\"name\": \"x\", \"version\": \"{version}\"}}");
            fs::write(package.join("package.json"), manifest).unwrap();
        }
        let npm = npm_versions(root.path());
        assert_eq!(npm["@a/b"], "1.0.0");
        assert_eq!(npm["@a/b/c"], "2.0.0");
        assert_eq!(npm.len(), 2);
    }
}
