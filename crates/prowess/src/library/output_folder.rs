//! Saves generated files in a folder. Their names come from a model's code and are not
//! trusted: no paths, no hidden files, no options, no control characters.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Error;

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 100;
/// Maximum numbered names that are tried.
const MAX_TRIES: usize = 1_000;

/// A folder in which generated files are saved.
#[derive(Debug, Clone)]
pub struct OutputFolder {
    path: PathBuf,
    overwrite: bool,
    written: Vec<PathBuf>,
}

impl OutputFolder {
    /// A folder, created when a file is saved. Existing files are kept: a file whose name
    /// exists gets a number.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        OutputFolder {
            path: path.into(),
            overwrite: false,
            written: Vec::new(),
        }
    }

    /// Replaces existing files.
    #[must_use]
    pub fn overwriting(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// Saves a file under a safe form of its name, and returns its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn save(&mut self, name: &str, content: Vec<u8>) -> Result<PathBuf, Error> {
        let mut folder = self.clone();
        let name = sanitise_name(name);
        let path = self.path.join(&name);
        let work = tokio::task::spawn_blocking(move || folder.write(&name, &content));
        let saved = work.await.map_err(io::Error::other).flatten();
        let saved = saved.map_err(|error| Error::Save { path, error })?;
        self.written.push(saved.clone());
        Ok(saved)
    }

    /// Writes a temporary file and renames it, so that no link is followed and no partial file
    /// is visible.
    fn write(&mut self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        std::fs::create_dir_all(&self.path)?;
        let mut file = new_file(&self.path)?;
        file.write_all(content)?;
        for number in 1..=MAX_TRIES {
            let path = self.path.join(number_name(name, number));
            let taken = if self.overwrite && !self.written.contains(&path) {
                file.persist(&path)
            } else {
                file.persist_noclobber(&path)
            };
            match taken {
                Ok(_) => return Ok(path),
                Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = failed.file;
                }
                Err(failed) => return Err(failed.error),
            }
        }
        let why = format!("{MAX_TRIES} files with this name already exist");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
    }
}

/// A temporary file with the default permissions of new files.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".prowess-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Safe names for files, all different.
pub(super) fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        let name = sanitise_name(name);
        // There are fewer files than numbers, so one of these names is free.
        let mut numbered = (1..).map(|number| number_name(&name, number));
        unique.extend(numbered.find(|name| !unique.contains(name)));
    }
    unique
}

/// `ball.gif`, `ball-2.gif`, ….
fn number_name(name: &str, number: usize) -> String {
    match (number, name.rsplit_once('.')) {
        (1, _) => name.to_owned(),
        (_, Some((stem, ending))) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

/// The last part of a path as a safe file name.
fn sanitise_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| c.is_alphanumeric() || " ._-+=,@()[]{}~'".contains(c);
    let mut safe: String = last
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    let skip = safe.chars().count().saturating_sub(MAX_NAME_CHARS);
    // The end is kept, because it has the extension.
    safe = safe.chars().skip(skip).collect();
    let safe = safe.trim();
    match safe.strip_prefix(['.', '-', '~']) {
        // Avoids hidden files, names that look like options, and `~`.
        Some(rest) => format!("_{rest}"),
        None if safe.is_empty() => "unnamed".to_owned(),
        None => safe.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_everything_that_could_do_harm() {
        let names = [
            ("ball.gif", "ball.gif"),
            ("out/über 1.txt", "über 1.txt"),
            ("../../.bashrc", "_bashrc"),
            ("a\\..\\..\\b", "b"),
            ("..", "_."),
            ("", "unnamed"),
            ("x/", "unnamed"),
            ("-rf", "_rf"),
            ("~root", "_root"),
            ("a\u{1b}[2Jb\n", "a_[2Jb_"),
            ("gpj.\u{202e}exe", "gpj._exe"),
            ("a:b|c?", "a_b_c_"),
        ];
        for (name, safe) in names {
            assert_eq!(sanitise_name(name), safe, "{name:?}");
        }
        let long = format!("{}.pdf", "é".repeat(300));
        assert!(sanitise_name(&long).ends_with("é.pdf"));
        assert_eq!(sanitise_name(&long).chars().count(), MAX_NAME_CHARS);
    }

    #[test]
    fn files_of_one_name_get_numbers() {
        let names = ["a/x.txt", "b/x.txt", "y", "x.txt", "x-2.txt"];
        let unique = unique_names(names.into_iter());
        assert_eq!(unique, ["x.txt", "x-2.txt", "y", "x-3.txt", "x-2-2.txt"]);
    }

    #[tokio::test]
    async fn what_is_there_stays_unless_it_is_to_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        std::fs::write(dir.path().join("a.txt"), "mine").unwrap();
        let mut folder = OutputFolder::new(dir.path());
        let saved = folder.save("deep/a.txt", b"new".to_vec()).await.unwrap();
        assert_eq!(saved, dir.path().join("a-2.txt"));
        assert_eq!(
            (read("a.txt"), read("a-2.txt")),
            ("mine".into(), "new".into())
        );

        let mut folder = OutputFolder::new(dir.path()).overwriting();
        let first = folder.save("a.txt", b"one".to_vec()).await.unwrap();
        let second = folder.save("b/a.txt", b"two".to_vec()).await.unwrap();
        assert_eq!(first, dir.path().join("a.txt"));
        // Two files of one run never replace each other.
        assert_ne!(first, second);
        assert_eq!(read("a.txt"), "one");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_replaced_and_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("precious");
        std::fs::write(&target, "mine").unwrap();
        let out = dir.path().join("out");
        std::fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink(&target, out.join("a.txt")).unwrap();
        let mut folder = OutputFolder::new(&out).overwriting();
        folder.save("a.txt", b"new".to_vec()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(out.join("a.txt")).unwrap(), "new");
    }
}
