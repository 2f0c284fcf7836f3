//! Validation of names that become part of a path.

use crate::error::Error;
use prowess_skill::misleading::find_misleading;
use std::ffi::CString;

/// Longest path of a file in a container or a skill.
pub(crate) const MAX_PATH_BYTES: usize = 1024;
/// Longest name of a file or folder that disks take.
const MAX_PART_BYTES: usize = 255;

/// Whether a name that code has given a file is shown as it is written: without control
/// characters, and without those that are invisible, turn the direction of text or separate
/// lines.
pub(crate) fn is_shown_as_written(name: &str) -> bool {
    find_misleading(name).is_none()
}

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
            name if name.len() > MAX_PART_BYTES => {
                Err(bad("a part of it is longer than 255 bytes"))
            }
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
            &format!("a/{}", "b".repeat(256)),
        ] {
            assert_eq!(split_path(path).unwrap_err().code(), "bad-name", "{path:?}");
        }
        assert_eq!(split_path("a/b c/ü.txt").unwrap().len(), 3);
        assert!(split_path(&"b".repeat(255)).is_ok());
    }

    #[test]
    fn names_that_mislead_are_distinguished_from_others() {
        for name in [
            "a b.txt",
            "\u{fc}.txt",
            "\u{5e9}\u{200f}.txt",
            "\u{1f469}\u{200d}\u{1f4bb}",
        ] {
            assert!(is_shown_as_written(name), "{name:?}");
        }
        for name in [
            "a\nb",
            "\u{1b}[2J",
            "\u{202e}fdp.exe",
            "a\u{2066}b",
            "a\u{2028}b",
            "a\u{200b}.txt",
            "\u{feff}a.txt",
            "\u{9b}",
        ] {
            assert!(!is_shown_as_written(name), "{name:?}");
        }
    }

    #[test]
    fn words_hold_no_path() {
        assert!(check_word("skill", "pdf-tools_2").is_ok());
        for name in ["", ".", "..", "a/b", "a b", "a\0"] {
            assert!(check_word("skill", name).is_err(), "{name:?}");
        }
    }
}
