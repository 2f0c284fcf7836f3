//! The read-only root that all sandboxes share: the host's runtime, or a root that the
//! operator names, and an `/etc` that reveals nothing about the host.

use crate::backend::{EXTRA_PROGRAMS, RUNTIME_NODE_MODULES};
use crate::error::{Error, ErrorContext};
use prowess_launcher::spec::{INNER_ID, RootSpec};
use std::fs;
use std::path::{Path, PathBuf};

/// Top-level folders of a runtime; a link among them (merged `/usr`) stays a link.
const FOLDERS: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Parts of `/etc` that programs need and that reveal nothing about the host.
const ETC: [&str; 10] = [
    "etc/alternatives",
    "etc/fonts",
    "etc/ImageMagick-6",
    "etc/ImageMagick-7",
    "etc/ld.so.cache",
    "etc/libreoffice",
    "etc/localtime",
    "etc/mime.types",
    "etc/ssl/certs",
    "etc/python3",
];

/// Parts of `/var` that programs of an installed runtime need. The host's `/var` is never
/// mounted.
const VAR: [&str; 2] = [
    // Without it, every program that uses fonts would first read all of them.
    "var/cache/fontconfig",
    "var/lib/ghostscript",
];

/// Links to the packages that npm has installed globally in a runtime. Node looks for packages
/// in `node_modules` of every folder above a script, so that one at the top makes them
/// available everywhere, for both kinds of modules. Where a layer is mounted, it hides the
/// second link, because packages of the layer must be found first; see `NODE_PATH`.
const NODE_LINKS: [(&str, &str); 2] = [
    ("/node_modules", "/packages/node_modules"),
    ("/packages/node_modules", RUNTIME_NODE_MODULES),
];

/// Where programs of a runtime are.
const PROGRAM_FOLDERS: [&str; 3] = ["usr/local/bin", "usr/bin", "bin"];

/// Describes the root. `from` is the root of the runtime, `/` for the host's.
pub(crate) fn root_spec(state: &Path, from: &Path, root_user: bool) -> Result<RootSpec, Error> {
    let mut base = RootSpec {
        state: state.to_owned(),
        runtime: Vec::new(),
        links: Vec::new(),
        files: files(),
        own_user_namespace: !root_user,
    };
    let var: &[&str] = if from == Path::new("/") { &[] } else { &VAR };
    for name in FOLDERS.iter().chain(&ETC).chain(var) {
        let (source, inside) = (from.join(name), Path::new("/").join(name));
        match fs::symlink_metadata(&source) {
            // A top-level link is one of merged `/usr`; any other may point outside, so its
            // target is mounted instead.
            Ok(found) if found.is_symlink() && !name.contains('/') => {
                base.links.push((
                    inside,
                    fs::read_link(&source).at("cannot read the runtime", &source)?,
                ));
            }
            Ok(_) => {
                let source = fs::canonicalize(&source).at("cannot read the runtime", &source)?;
                base.runtime.push((source, inside));
            }
            Err(_) => {}
        }
    }
    if base.runtime.is_empty() {
        let reason = format!("{} holds no runtime (no usr, bin or lib)", from.display());
        let advice = "name a root file system that has one".into();
        return Err(Error::Refused { reason, advice });
    }
    let modules = RUNTIME_NODE_MODULES.trim_start_matches('/');
    if from.join(modules).is_dir() {
        let links = NODE_LINKS.map(|(path, target)| (path.into(), target.into()));
        base.links.extend(links);
    }
    base.links.extend(python_link(from));
    Ok(base)
}

/// The link by which `python` is Python 3. Most skills say `python`; Debian's packages have only
/// `python3`. A runtime's own `python` is found before it.
fn python_link(from: &Path) -> Option<(PathBuf, PathBuf)> {
    let find = |name: &str| {
        let mut folders = PROGRAM_FOLDERS.into_iter();
        folders.find(|folder| fs::symlink_metadata(from.join(folder).join(name)).is_ok())
    };
    if find("python").is_some() {
        return None;
    }
    let python3 = Path::new("/").join(find("python3")?).join("python3");
    Some((Path::new(EXTRA_PROGRAMS).join("python"), python3))
}

fn files() -> Vec<(PathBuf, String)> {
    let id = INNER_ID;
    [
        (
            "/etc/passwd",
            format!("sandbox:x:{id}:{id}::/tmp:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"),
        ),
        ("/etc/group", format!("sandbox:x:{id}:\nnogroup:x:65534:\n")),
        (
            "/etc/hosts",
            "127.0.0.1 localhost sandbox\n::1 localhost\n".into(),
        ),
        ("/etc/hostname", "sandbox\n".into()),
        (
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n".into(),
        ),
        ("/etc/resolv.conf", String::new()),
    ]
    .map(|(path, text)| (path.into(), text))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_is_python_3_where_a_runtime_has_no_other() {
        let runtime = tempfile::tempdir().unwrap();
        let programs = runtime.path().join("usr/bin");
        fs::create_dir_all(&programs).unwrap();
        let links = || {
            let spec = root_spec(Path::new("/state"), runtime.path(), true);
            spec.unwrap().links
        };
        assert!(links().is_empty());
        fs::write(programs.join("python3"), "").unwrap();
        let link: (PathBuf, PathBuf) = ("/programs/python".into(), "/usr/bin/python3".into());
        assert_eq!(links(), [link]);
        fs::write(programs.join("python"), "").unwrap();
        assert!(links().is_empty());
    }
}
