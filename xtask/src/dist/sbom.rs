//! The bill of materials: every package that is linked into the binary, in CycloneDX's JSON.
//!
//! Packages come from `cargo metadata` for a platform, their digests from `Cargo.lock`.
//! Dependencies of build scripts and tests are not part of the binary and not listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::release::Release;
use super::tarball::read;
use crate::run::cargo;

/// The packages whose code is in artefacts: the binary and the Python module.
const ROOTS: [&str; 2] = ["prowess-cli", "prowess-python"];

/// Writes the bill, and returns its text.
pub(super) fn write(release: &Release, out: &Path) -> anyhow::Result<String> {
    let arguments = [
        "--format-version=1",
        "--locked",
        "--filter-platform",
        release.platform.triple(),
    ];
    let listed = cargo(&["metadata"]).args(arguments).output()?;
    let error = String::from_utf8_lossy(&listed.stderr);
    anyhow::ensure!(listed.status.success(), "cargo metadata failed: {error}");
    let metadata: Value = serde_json::from_slice(&listed.stdout)?;
    let sums = checksums(&String::from_utf8(read("Cargo.lock")?)?);
    let bill = bill(&metadata, &sums, release).context("cargo metadata has an unknown format")?;
    let text = format!("{bill:#}\n");
    let triple = release.platform.triple();
    let name = format!("prowess-{}-{triple}.cdx.json", release.version);
    std::fs::write(out.join(name), &text).context("cannot write the bill of materials")?;
    Ok(text)
}

fn bill(
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
    release: &Release,
) -> Option<Value> {
    let packages = metadata.get("packages")?.as_array()?;
    let by_id: BTreeMap<&str, &Value> = packages
        .iter()
        .filter_map(|package| Some((package.get("id")?.as_str()?, package)))
        .collect();
    let linked = linked(metadata, &by_id)?;
    let mut components = Vec::new();
    for package in linked.iter().filter_map(|id| by_id.get(id)) {
        let (name, version) = (text(package, "name")?, text(package, "version")?);
        let purl = format!("pkg:cargo/{name}@{version}");
        let mut component = json!({
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
        });
        if let (Some(fields), Some(licence)) = (component.as_object_mut(), text(package, "license"))
        {
            // Old packages write `/` for `OR`.
            let expression = licence.replace('/', " OR ");
            fields.insert("licenses".into(), json!([{ "expression": expression }]));
        }
        let sum = sums.get(&(name.to_owned(), version.to_owned()));
        if let (Some(fields), Some(sum)) = (component.as_object_mut(), sum) {
            fields.insert(
                "hashes".into(),
                json!([{ "alg": "SHA-256", "content": sum }]),
            );
        }
        components.push((name, version, component));
    }
    components.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let components: Vec<Value> = components.into_iter().map(|(.., one)| one).collect();
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "prowess",
                "name": "prowess",
                "version": release.version,
                "licenses": [{ "expression": "Apache-2.0" }],
                "purl": format!("pkg:generic/prowess@{}", release.version),
            },
        },
        "components": components,
    }))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The ids of all packages that the roots are linked with, however far down.
fn linked<'a>(
    metadata: &'a Value,
    by_id: &BTreeMap<&'a str, &'a Value>,
) -> Option<BTreeSet<&'a str>> {
    let nodes = metadata.pointer("/resolve/nodes")?.as_array()?;
    let nodes: BTreeMap<&str, &Value> = nodes
        .iter()
        .filter_map(|node| Some((text(node, "id")?, node)))
        .collect();
    let is_root = |package: &Value| text(package, "name").is_some_and(|name| ROOTS.contains(&name));
    let roots = by_id.iter().filter(|(_, package)| is_root(package));
    let mut waiting: Vec<&str> = roots.map(|(id, _)| *id).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id)?.get("deps")?.as_array()?;
        waiting.extend(dependencies.iter().filter_map(|dependency| {
            let kinds = dependency.get("dep_kinds")?.as_array()?;
            let is_normal = kinds
                .iter()
                .any(|kind| kind.get("kind") == Some(&Value::Null));
            let package = text(dependency, "pkg")?;
            let is_library = by_id.get(package).is_none_or(|package| !is_macro(package));
            (is_normal && is_library).then_some(package)
        }));
    }
    Some(found)
}

/// A procedural macro runs in the compiler.
fn is_macro(package: &Value) -> bool {
    let targets = package.get("targets").and_then(Value::as_array);
    targets.into_iter().flatten().any(|target| {
        let kinds = target.get("kind").and_then(Value::as_array);
        kinds.into_iter().flatten().any(|kind| kind == "proc-macro")
    })
}

/// Digests of packages by name and version, from the lock file.
fn checksums(lock_file: &str) -> BTreeMap<(String, String), String> {
    let field = |package: &str, name: &str| {
        let start = format!("{name} = \"");
        let line = package.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    lock_file
        .split("[[package]]")
        .filter_map(|package| {
            let key = (field(package, "name")?, field(package, "version")?);
            Some((key, field(package, "checksum")?))
        })
        .collect()
}
