//! Expansion of `~` at the start of a path.
//!
//! Shells expand `~/skills`, but not in quotes, in a JSON configuration of an MCP host, in a
//! configuration file or in a variable. Paths that users write are expanded here; paths
//! from programs stay unchanged.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Why a path that begins with `~` cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// The home folder is unknown.
    #[error("{}: HOME is not set, so `~` cannot be expanded; write the full path", .0.display())]
    NoHome(PathBuf),
    /// `~name`, and there is no file of this name.
    #[error(
        "{}: the home folders of other users are not looked up; write the whole path, or ./{} \
         if that is a file's own name",
        .0.display(),
        .0.display()
    )]
    OtherUser(PathBuf),
}

/// The path with the user's home folder for a leading `~` or `~/`. Any other path stays
/// as it is, also `~name` where a file or folder of that name is here.
///
/// # Errors
/// When there is no home folder, or it is that of another user.
pub fn expand(path: &Path) -> Result<PathBuf, HomeError> {
    expand_in(path, std::env::var_os("HOME"))
}

fn expand_in(path: &Path, home: Option<OsString>) -> Result<PathBuf, HomeError> {
    let mut parts = path.components();
    let Some(Component::Normal(first)) = parts.next() else {
        return Ok(path.to_owned());
    };
    if first == "~" {
        let home = home.filter(|home| !home.is_empty());
        let home = home.ok_or_else(|| HomeError::NoHome(path.to_owned()))?;
        let rest = parts.as_path();
        return Ok(if rest.as_os_str().is_empty() {
            PathBuf::from(home)
        } else {
            Path::new(&home).join(rest)
        });
    }
    let is_literal = || Path::new(first).symlink_metadata().is_ok();
    if first.as_encoded_bytes().starts_with(b"~") && !is_literal() {
        return Err(HomeError::OtherUser(path.to_owned()));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(path: &str) -> Result<PathBuf, HomeError> {
        expand_in(Path::new(path), Some("/home/ada".into()))
    }

    #[test]
    fn only_the_users_own_home_is_meant() {
        for (path, meant) in [
            ("~", "/home/ada"),
            ("~/", "/home/ada"),
            ("~/skills", "/home/ada/skills"),
            ("~/a/../b", "/home/ada/a/../b"),
            ("~//a", "/home/ada/a"),
            ("a/~/b", "a/~/b"),
            ("./~", "./~"),
            ("./~bob", "./~bob"),
            ("/~/x", "/~/x"),
            ("a~", "a~"),
            ("", ""),
            (".", "."),
            (
                "https://example.com/~bob/s.zip",
                "https://example.com/~bob/s.zip",
            ),
        ] {
            assert_eq!(expanded(path), Ok(PathBuf::from(meant)), "{path}");
        }
        for path in ["~bob", "~bob/skills", "~+", "~-/x"] {
            let refused = expanded(path);
            assert_eq!(refused, Err(HomeError::OtherUser(path.into())), "{path}");
        }
    }

    #[test]
    fn without_a_home_only_such_paths_are_refused() {
        for home in [None, Some(OsString::new())] {
            let refused = expand_in(Path::new("~/x"), home.clone());
            assert_eq!(refused, Err(HomeError::NoHome("~/x".into())));
            assert!(expand_in(Path::new("x"), home).is_ok());
        }
    }
}
