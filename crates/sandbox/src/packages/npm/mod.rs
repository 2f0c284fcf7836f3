//! npm dependencies of skills: `package.json`, and the `package-lock.json` beside it. Only
//! names, versions and digests of packages in the operator's registry are read, and what the
//! installer gets is rendered from these.

mod lockfile;
mod name;

use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

use crate::error::Error;
use crate::skills::SkillFiles;
use lockfile::NpmLock;
pub(crate) use name::is_npm_name;
use name::is_npm_spec;

/// Files with the dependencies of a skill, and the lock of each.
const LISTS: [(&str, &str); 2] = [
    ("package.json", "package-lock.json"),
    ("scripts/package.json", "scripts/package-lock.json"),
];

/// Maximum bytes of a `package.json`.
const MAX_MANIFEST_BYTES: usize = 64 << 10;
/// Maximum packages that skills name themselves.
const MAX_DEPENDENCIES: usize = 200;
/// Maximum characters of a refused dependency in an error.
const MAX_QUOTED_CHARS: usize = 120;

/// The npm dependencies of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpmProject {
    /// The `package.json` for the installer.
    pub(crate) manifest: String,
    /// The `package-lock.json` for the installer.
    pub(crate) lock: Option<String>,
}

/// The dependencies of one `package.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NpmDependencies {
    dependencies: BTreeMap<String, String>,
    lock: Option<NpmLock>,
}

#[derive(Deserialize)]
struct ManifestText {
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
}

impl NpmProject {
    /// The dependencies of skills that share a container; `None` if there are none. With one
    /// skill its lock is used as it is; with several, the versions of their locks.
    pub(crate) fn from_skills(skills: &[SkillFiles]) -> Result<Option<Self>, Error> {
        let mut found: Vec<NpmDependencies> = Vec::new();
        for skill in skills {
            for (list, lock) in LISTS {
                let read = read_dependencies(skill, list, lock)?;
                found.extend(read.filter(|read| !found.contains(read)));
            }
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(Self::render(
                &one.dependencies,
                one.lock.as_ref().map(|lock| lock.render(&one.dependencies)),
            ))),
            several => Ok(Some(Self::render(&merge(several)?, None))),
        }
    }

    /// Reads what another one was rendered as; `None` if it has no dependencies.
    pub(crate) fn parse(manifest: &str, lock: Option<&str>) -> Result<Option<Self>, Error> {
        let dependencies = read_manifest(manifest.as_bytes())?;
        if dependencies.is_empty() {
            return Ok(None);
        }
        let lock = lock.map(|lock| NpmLock::parse(lock.as_bytes()));
        let lock = lock
            .transpose()
            .map_err(|why| refused("package-lock.json", why))?;
        let lock = lock.map(|lock| lock.render(&dependencies));
        Ok(Some(Self::render(&dependencies, lock)))
    }

    fn render(dependencies: &BTreeMap<String, String>, lock: Option<String>) -> Self {
        let manifest = json!({ "private": true, "dependencies": dependencies });
        Self {
            manifest: manifest.to_string(),
            lock,
        }
    }
}

/// The dependencies of several lists, which must agree.
fn merge(lists: &[NpmDependencies]) -> Result<BTreeMap<String, String>, Error> {
    let mut merged: BTreeMap<String, String> = BTreeMap::new();
    for list in lists {
        for (name, spec) in &list.dependencies {
            let locked = list.lock.as_ref().and_then(|lock| lock.version(name));
            let spec = locked.unwrap_or(spec).to_owned();
            let known = merged.entry(name.clone()).or_insert_with(|| spec.clone());
            if *known != spec {
                let why = "two skills of one container need different versions of it";
                return Err(refused(name, why));
            }
        }
    }
    if merged.len() > MAX_DEPENDENCIES {
        return Err(refused("package.json", "the limit is 200 dependencies"));
    }
    Ok(merged)
}

fn read_dependencies(
    skill: &SkillFiles,
    list: &str,
    lock: &str,
) -> Result<Option<NpmDependencies>, Error> {
    let file = |path: &str| skill.files.iter().find(|file| file.path == path);
    let Some(manifest) = file(list) else {
        return Ok(None);
    };
    let place = format!("{}/{list}", skill.name);
    let dependencies = read_manifest(&manifest.bytes).map_err(|error| error.with_file(&place))?;
    if dependencies.is_empty() {
        return Ok(None);
    }
    let lock = match file(lock) {
        None => None,
        Some(file) => Some(
            NpmLock::parse(&file.bytes)
                .map_err(|why| refused(lock, why).with_file(&format!("{}/{lock}", skill.name)))?,
        ),
    };
    Ok(Some(NpmDependencies { dependencies, lock }))
}

fn read_manifest(bytes: &[u8]) -> Result<BTreeMap<String, String>, Error> {
    if bytes.len() > MAX_MANIFEST_BYTES {
        return Err(refused("package.json", "it is larger than 64 KiB"));
    }
    let read: ManifestText = serde_json::from_slice(bytes)
        .map_err(|_| refused("package.json", "it is not JSON with dependencies as texts"))?;
    if read.dependencies.len() > MAX_DEPENDENCIES {
        return Err(refused("package.json", "the limit is 200 dependencies"));
    }
    for (name, spec) in &read.dependencies {
        if !is_npm_name(name) || !is_npm_spec(spec) {
            let why = "only packages of the registry are allowed: no paths, addresses or \
                       repositories";
            return Err(refused(&format!("{name}@{spec}"), why));
        }
    }
    Ok(read.dependencies)
}

fn refused(name: &str, why: &'static str) -> Error {
    Error::BadName {
        what: "npm dependency",
        name: name.chars().take(MAX_QUOTED_CHARS).collect(),
        why,
    }
}

#[cfg(test)]
mod tests;
