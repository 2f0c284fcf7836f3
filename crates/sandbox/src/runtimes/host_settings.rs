//! How the host's own pip and npm reach their packages: indexes, registries, proxies and
//! certificates. Read for one step of an installation and never stored in a runtime, because
//! they may contain credentials.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::{AtPlace, RuntimeError};

/// Where the files are inside the root, in a file system that exists only during the step.
pub(super) const INSIDE: &str = "/run/prowess";

const FAILED: &str = "cannot copy the host's settings";

/// Variables that are passed as they are.
const VARIABLES: [&str; 22] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_PROXY",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "NPM_CONFIG_PROXY",
    "npm_config_proxy",
    "NPM_CONFIG_HTTPS_PROXY",
    "npm_config_https_proxy",
    "NPM_CONFIG_STRICT_SSL",
    "npm_config_strict_ssl",
];

/// Variables that name a file.
const FILE_VARIABLES: [&str; 8] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "NODE_EXTRA_CA_CERTS",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
];

/// Copies the files to `folder`, which the step makes visible at [`INSIDE`], and returns the
/// variables that name them.
pub(super) fn copy(folder: &Path) -> Result<Vec<(String, OsString)>, RuntimeError> {
    fs::create_dir_all(folder).at_place(FAILED, folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).at_place(FAILED, folder)?;
    let mut variables: Vec<(String, OsString)> = VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)))
        .collect();
    for name in FILE_VARIABLES {
        let Some(source) = std::env::var_os(name).map(PathBuf::from) else {
            continue;
        };
        if copy_file(&source, &folder.join(name))? {
            variables.push((name.to_owned(), format!("{INSIDE}/{name}").into()));
        }
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = |path: &str| home.as_ref().map(|home| home.join(path));
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let pip_user = variable("XDG_CONFIG_HOME").map(|folder| folder.join("pip/pip.conf"));
    // The first that exists of each; pip and npm look for them in these places.
    let files: [(&str, Vec<Option<PathBuf>>); 5] = [
        (
            "site/pip/pip.conf",
            vec![
                Some("/etc/pip.conf".into()),
                Some("/etc/xdg/pip/pip.conf".into()),
            ],
        ),
        (
            "user/pip/pip.conf",
            vec![
                pip_user,
                home(".config/pip/pip.conf"),
                home(".pip/pip.conf"),
            ],
        ),
        ("pip.conf", vec![variable("PIP_CONFIG_FILE")]),
        (
            "npm-user",
            vec![
                variable("NPM_CONFIG_USERCONFIG"),
                variable("npm_config_userconfig"),
                home(".npmrc"),
            ],
        ),
        (
            "npm-global",
            vec![
                variable("NPM_CONFIG_GLOBALCONFIG"),
                Some("/etc/npmrc".into()),
                Some("/usr/local/etc/npmrc".into()),
            ],
        ),
    ];
    for (name, places) in files {
        let target = folder.join(name);
        for place in places.into_iter().flatten() {
            if copy_file(&place, &target)? {
                break;
            }
        }
        if !target.exists() {
            continue;
        }
        let inside = format!("{INSIDE}/{name}");
        let (variable, value) = match name {
            "site/pip/pip.conf" => ("XDG_CONFIG_DIRS", format!("{INSIDE}/site")),
            "user/pip/pip.conf" => ("XDG_CONFIG_HOME", format!("{INSIDE}/user")),
            "pip.conf" => ("PIP_CONFIG_FILE", inside),
            "npm-user" => ("NPM_CONFIG_USERCONFIG", inside),
            _ => ("NPM_CONFIG_GLOBALCONFIG", inside),
        };
        variables.push((variable.to_owned(), value.into()));
    }
    Ok(variables)
}

/// Copies a file if it exists, and returns whether it does.
fn copy_file(source: &Path, target: &Path) -> Result<bool, RuntimeError> {
    if !source.is_file() {
        return Ok(false);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).at_place(FAILED, parent)?;
    }
    fs::copy(source, target).at_place(FAILED, source)?;
    Ok(true)
}
