//! A `package-lock.json`: read by strict rules, and rendered again from the parts that say
//! which versions are installed where, with which digests.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::name::{is_npm_integrity, is_npm_name, is_npm_spec, is_npm_version, is_tree_path};

/// Maximum packages of a lock.
const MAX_PACKAGES: usize = 5_000;
/// Maximum bytes of a lock.
const MAX_LOCK_BYTES: usize = 4 << 20;

/// The packages of a lock by their place in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NpmLock(BTreeMap<String, LockedPackage>);

#[derive(Deserialize)]
struct LockText {
    #[serde(default)]
    packages: BTreeMap<String, LockedPackage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct LockedPackage {
    /// The real name, if it is installed under another.
    name: Option<String>,
    version: Option<String>,
    integrity: Option<String>,
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
    os: Vec<String>,
    cpu: Vec<String>,
    libc: Vec<String>,
    link: bool,
    optional: bool,
    peer: bool,
    dev: bool,
    dev_optional: bool,
}

impl NpmLock {
    /// Reads a lock.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() > MAX_LOCK_BYTES {
            return Err("it is larger than 4 MiB");
        }
        let read: LockText =
            serde_json::from_slice(bytes).map_err(|_| "it is not a lock of npm 7 or later")?;
        if read.packages.len() > MAX_PACKAGES {
            return Err("it has more than 5000 packages");
        }
        let mut packages = read.packages;
        packages.remove("");
        packages.retain(|_, package| !package.dev && !package.dev_optional);
        for (path, package) in &packages {
            package.ensure_valid(path)?;
        }
        Ok(Self(packages))
    }

    /// The version of a package that the skill itself names.
    pub(super) fn version(&self, name: &str) -> Option<&str> {
        let package = self.0.get(&format!("node_modules/{name}"))?;
        package.version.as_deref()
    }

    /// The lock of a project with these dependencies.
    pub(super) fn render(&self, dependencies: &BTreeMap<String, String>) -> String {
        let mut packages = Map::new();
        let root = json!({ "dependencies": dependencies });
        packages.insert(String::new(), root);
        for (path, package) in &self.0 {
            packages.insert(path.clone(), package.render());
        }
        json!({ "lockfileVersion": 3, "requires": true, "packages": packages }).to_string()
    }
}

impl LockedPackage {
    fn ensure_valid(&self, path: &str) -> Result<(), &'static str> {
        if self.link || !is_tree_path(path) {
            return Err("it refers to a folder; only packages of the registry are installed");
        }
        if !self.version.as_deref().is_some_and(is_npm_version) {
            return Err("a package has no valid version");
        }
        if !self.integrity.as_deref().is_some_and(is_npm_integrity) {
            return Err("a package has no valid integrity, so that it is not of a registry");
        }
        if self.name.as_deref().is_some_and(|name| !is_npm_name(name)) {
            return Err("a package has an invalid name");
        }
        let lists = [
            &self.dependencies,
            &self.optional_dependencies,
            &self.peer_dependencies,
        ];
        let valid = |(name, spec): (&String, &String)| is_npm_name(name) && is_npm_spec(spec);
        if !lists.into_iter().flatten().all(valid) {
            return Err("a package depends on something that is not in the registry");
        }
        let is_word = |word: &String| {
            let rest = word.strip_prefix('!').unwrap_or(word);
            rest.len() <= 20 && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let words = [&self.os, &self.cpu, &self.libc];
        if !words.into_iter().flatten().all(is_word) {
            return Err("a package has an invalid platform");
        }
        Ok(())
    }

    fn render(&self) -> Value {
        let mut fields = Map::new();
        let texts = [
            ("name", &self.name),
            ("version", &self.version),
            ("integrity", &self.integrity),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                fields.insert(name.into(), json!(text));
            }
        }
        let maps = [
            ("dependencies", &self.dependencies),
            ("optionalDependencies", &self.optional_dependencies),
            ("peerDependencies", &self.peer_dependencies),
        ];
        for (name, map) in maps {
            if !map.is_empty() {
                fields.insert(name.into(), json!(map));
            }
        }
        for (name, words) in [("os", &self.os), ("cpu", &self.cpu), ("libc", &self.libc)] {
            if !words.is_empty() {
                fields.insert(name.into(), json!(words));
            }
        }
        for (name, flag) in [("optional", self.optional), ("peer", self.peer)] {
            if flag {
                fields.insert(name.into(), json!(true));
            }
        }
        Value::Object(fields)
    }
}
