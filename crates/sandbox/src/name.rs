//! Validation of names that become part of a path.

use crate::error::Error;
use std::ffi::CString;

/// Longest path of a file in a container or a skill.
const MAX_PATH_BYTES: usize = 1024;

/// Splits a relative path into the names of its folders and of the file.
pub(crate) fn split_path(path: &str) -> Result<Vec<CString>, Error> {
    let bad = |why| Error::BadName {
        what: "path",
        name: path.to_owned(),
        why,
    };
    if path.len() > MAX_PATH_BYTES {
        return Err(bad("it is longer than 1024 bytes"));
    }
    if path.starts_with('/') {
        return Err(bad("it must be relative"));
    }
    if path.chars().any(char::is_control) {
        return Err(bad("it holds a control character"));
    }
    path.split('/')
        .map(|name| match name {
            "" => Err(bad("it has an empty part")),
            "." | ".." => Err(bad("it must not contain `.` or `..`")),
            name => CString::new(name).map_err(|_| bad("it holds a NUL byte")),
        })
        .collect()
}

/// Checks a name that is one part of a path: a skill, a digest, an id.
pub(crate) fn check_word<'a>(what: &'static str, name: &'a str) -> Result<&'a str, Error> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 128 || !name.chars().all(fine) {
        let why = "it must be 1 to 128 letters, digits, '-' or '_'";
        return Err(Error::BadName {
            what,
            name: name.to_owned(),
            why,
        });
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_their_folder_are_refused() {
        for path in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "a/./b",
            "a/",
            "a\0b",
            "a\nb",
        ] {
            assert_eq!(split_path(path).unwrap_err().code(), "bad-name", "{path:?}");
        }
        assert_eq!(split_path("a/b c/ü.txt").unwrap().len(), 3);
    }

    #[test]
    fn words_hold_no_path() {
        assert!(check_word("skill", "pdf-tools_2").is_ok());
        for name in ["", ".", "..", "a/b", "a b", "a\0"] {
            assert!(check_word("skill", name).is_err(), "{name:?}");
        }
    }
}
