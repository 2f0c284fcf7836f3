//! What a runtime is made of: names of packages, and commands and modules that must work.
//! Names are checked, because they become arguments of package managers.

use serde::Deserialize;

use super::error::RuntimeError;
use super::name::RuntimeName;
use crate::packages::npm::is_npm_name;

/// The runtimes that Prowess knows, by name.
const KNOWN: [(&str, &str); 2] = [
    ("slim", include_str!("../../runtimes/slim.toml")),
    ("full", include_str!("../../runtimes/full.toml")),
];

const MAX_PACKAGES: usize = 1_000;
const MAX_NAME_BYTES: usize = 200;
const MAX_COMMAND_BYTES: usize = 4_000;
const MAX_TEXT_BYTES: usize = 256 << 10;

/// What a runtime is made of, and how it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeDefinition {
    /// What it is for, in a few words.
    #[serde(default)]
    pub description: String,
    pub(super) debian: DebianPackages,
    #[serde(default)]
    pub(super) python: PackageNames,
    #[serde(default)]
    pub(super) npm: PackageNames,
    #[serde(default)]
    pub(super) check: RuntimeChecks,
    /// The text it was read from.
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DebianPackages {
    /// The release; by default the host's.
    pub(super) suite: Option<String>,
    pub(super) packages: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PackageNames {
    pub(super) packages: Vec<String>,
}

/// What must work in the runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RuntimeChecks {
    /// Lines for a shell that must succeed.
    pub(super) commands: Vec<String>,
    /// Modules that Python must be able to import.
    pub(super) python: Vec<String>,
    /// Packages that Node must be able to load.
    pub(super) node: Vec<String>,
}

impl RuntimeDefinition {
    /// Reads a list of packages.
    ///
    /// # Errors
    /// [`RuntimeError::BadDefinition`] with the reason.
    pub fn parse(text: &str) -> Result<Self, RuntimeError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(bad(format!("it is longer than {MAX_TEXT_BYTES} bytes")));
        }
        let read: Self = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
        read.ensure_valid()?;
        Ok(Self {
            text: text.to_owned(),
            ..read
        })
    }

    /// The definition of a runtime that Prowess knows.
    ///
    /// # Errors
    /// [`RuntimeError::Unknown`] with those that exist.
    pub fn known(name: &RuntimeName) -> Result<Self, RuntimeError> {
        let found = KNOWN.iter().find(|(known, _)| *known == name.as_str());
        match found {
            Some((_, text)) => Self::parse(text),
            None => Err(RuntimeError::Unknown {
                name: name.to_string(),
                available: KNOWN.map(|(known, _)| known).join(", "),
            }),
        }
    }

    /// The names that Prowess knows.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    fn ensure_valid(&self) -> Result<(), RuntimeError> {
        if let Some(suite) = &self.debian.suite {
            ensure("debian.suite", suite, is_debian_name)?;
        }
        let lists: [(&str, &[String], NameRule); 5] = [
            ("debian.packages", &self.debian.packages, is_debian_name),
            ("python.packages", &self.python.packages, is_python_name),
            ("npm.packages", &self.npm.packages, is_npm_name),
            ("check.python", &self.check.python, is_module_name),
            ("check.node", &self.check.node, is_npm_name),
        ];
        for (setting, names, is_valid) in lists {
            if names.len() > MAX_PACKAGES {
                return Err(bad(format!("{setting}: more than {MAX_PACKAGES}")));
            }
            for name in names {
                ensure(setting, name, is_valid)?;
            }
        }
        let commands = &self.check.commands;
        if commands.len() > MAX_PACKAGES
            || commands.iter().any(|line| line.len() > MAX_COMMAND_BYTES)
        {
            return Err(bad("check.commands: too many, or one is too long".into()));
        }
        if self.debian.packages.is_empty() {
            return Err(bad("debian.packages: name at least one package".into()));
        }
        Ok(())
    }
}

/// Whether a text is a name of one kind.
type NameRule = fn(&str) -> bool;

fn bad(why: String) -> RuntimeError {
    RuntimeError::BadDefinition { why }
}

fn ensure(setting: &str, name: &str, is_valid: NameRule) -> Result<(), RuntimeError> {
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && is_valid(name) {
        return Ok(());
    }
    let name: String = name.chars().take(MAX_NAME_BYTES).collect();
    Err(bad(format!(
        "{setting}: `{name}` is not a name; versions, paths and addresses are not allowed"
    )))
}

fn is_debian_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    first && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c))
        // With these ends, apt would remove or change the package.
        && !name.ends_with(['+', '-'])
        || name == "g++"
}

fn is_python_name(name: &str) -> bool {
    let outer = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| outer(c) || "-_.".contains(c);
    name.starts_with(outer) && name.ends_with(outer) && name.chars().all(inner)
}

fn is_module_name(name: &str) -> bool {
    name.split('.').all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_runtimes_are_valid_and_sorted() {
        for name in RuntimeDefinition::known_names() {
            let definition = RuntimeDefinition::known(&name.parse().unwrap()).unwrap();
            let lists = [
                &definition.debian.packages,
                &definition.python.packages,
                &definition.npm.packages,
            ];
            for list in lists {
                assert!(list.is_sorted(), "{name}: {list:?}");
            }
            assert!(!definition.check.commands.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_runtime_that_is_not_known_is_refused_with_those_that_are() {
        let message = RuntimeDefinition::known(&"other".parse().unwrap()).unwrap_err();
        assert!(message.to_string().contains("slim, full"), "{message}");
    }

    #[test]
    fn only_names_are_packages() {
        for (list, name) in [
            ("debian", "-o=x"),
            ("debian", "bash-"),
            ("debian", "bash=1"),
            ("debian", "./a.deb"),
            ("debian", "?essential"),
            ("python", "a==1"),
            ("python", "--pre"),
            ("python", "git+https://x/y"),
            ("python", "./a"),
            ("npm", "a@1"),
            ("npm", "--unsafe-perm"),
            ("npm", "x/y"),
            ("npm", "file:../a"),
            ("npm", "@a/b/c"),
        ] {
            let mut text = format!("[{list}]\npackages = [\"{name}\"]\n");
            if list != "debian" {
                text.push_str("[debian]\npackages = [\"bash\"]\n");
            }
            let refused = RuntimeDefinition::parse(&text).unwrap_err().to_string();
            assert!(refused.contains("is not a name"), "{text}: {refused}");
        }
        let text = "[debian]\npackages = [\"g++\", \"libstdc++6\", \"python3.11\"]\n[python]\n\
                    packages = [\"pdfminer.six\"]\n[npm]\npackages = [\"@a/b\", \"pdf-lib\"]\n";
        RuntimeDefinition::parse(text).unwrap();
        assert!(RuntimeDefinition::parse("[debian]\npackages = []\n").is_err());
        assert!(RuntimeDefinition::parse("[debian]\npackages = [\"a\"]\nx = 1\n").is_err());
    }
}
