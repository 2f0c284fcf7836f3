//! Skills and files as a program names them: ids, names, paths, URLs, or what it has in
//! memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::{SkillRef, load_opened};
use prowess_skill::Skill as Checked;
use prowess_source::url::is_url;
use pyo3::FromPyObject;
use tokio::task::spawn_blocking;

use crate::failure::PyFailure;
use crate::skill_source::Source;
use crate::sources::{FetchSettings, open_all};

/// Maximum size of a file that is placed in a container.
pub(super) const MAX_FILE_BYTES: u64 = 128 << 20;

/// Maximum number of files of a request.
const MAX_FILES: usize = 100;

/// Selects stored skills by what the prompt is about.
const AUTO: &str = "auto";

/// A skill as given, without anything of Python.
pub(super) enum SkillPlace {
    Loaded(Arc<Checked>),
    Text(PathBuf),
}

/// A skill that was given, read if it is not a stored one.
pub(super) enum GivenSkill {
    /// Stored.
    Id {
        id: String,
        version: Option<String>,
    },
    /// Stored under this name, or an alias.
    Named(String),
    Loaded(Arc<Checked>),
}

/// An input file: a name and its content, or a path.
#[derive(Debug, FromPyObject)]
pub(super) enum GivenFile {
    Content((String, Vec<u8>)),
    Path(PathBuf),
}

impl From<Source<'_>> for SkillPlace {
    fn from(source: Source<'_>) -> Self {
        match source {
            Source::Skill(skill) => SkillPlace::Loaded(Arc::clone(&skill.checked)),
            Source::Path(path) => SkillPlace::Text(path),
        }
    }
}

/// Reads skills, in order. A source may have several.
pub(super) async fn read_skills(
    places: Vec<SkillPlace>,
    fetch: &FetchSettings,
) -> Result<Vec<GivenSkill>, PyFailure> {
    let mut skills = Vec::with_capacity(places.len());
    for place in places {
        match place {
            SkillPlace::Loaded(skill) => skills.push(GivenSkill::Loaded(skill)),
            SkillPlace::Text(path) => match stored(&path) {
                Some(skill) => skills.push(skill),
                None => skills.extend(read_source(path, fetch).await?),
            },
        }
    }
    Ok(skills)
}

/// The stored skill that a text names, if it does. An existing path takes precedence over a
/// name.
fn stored(path: &Path) -> Option<GivenSkill> {
    let text = path.to_str()?;
    if let SkillRef::Id { id, version } = SkillRef::from(text) {
        return Some(GivenSkill::Id { id, version });
    }
    if is_url(path) || path.exists() {
        return None;
    }
    Some(match text {
        AUTO => GivenSkill::Id {
            id: AUTO.to_owned(),
            version: None,
        },
        name => GivenSkill::Named(name.to_owned()),
    })
}

async fn read_source(path: PathBuf, fetch: &FetchSettings) -> Result<Vec<GivenSkill>, PyFailure> {
    let mut opened = open_all(std::slice::from_ref(&path), fetch).await?;
    let Some(opened) = opened.pop() else {
        return Ok(Vec::new());
    };
    let read = spawn_blocking(move || load_opened(&path, opened)).await;
    let skills = read.map_err(PyFailure::internal)??;
    let loaded = skills.into_iter().map(Arc::new);
    Ok(loaded.map(GivenSkill::Loaded).collect())
}

/// A name that is neither a path nor a stored skill.
pub(super) fn unknown_name(name: &str) -> PyFailure {
    let why = format!(
        "`{name}` is not a folder, archive or URL, and no stored skill has this name; check the \
         path, or name the skill by its id"
    );
    PyFailure::new("SourceError", "source-not-found", why)
}

/// Refuses files that no code could read, or too many of them.
pub(super) fn check_files(files: &[GivenFile], code: bool) -> Result<(), PyFailure> {
    if files.len() > MAX_FILES {
        let why = format!("files: {} were given, {MAX_FILES} are allowed", files.len());
        return Err(PyFailure::usage(why));
    }
    if !files.is_empty() && !code {
        return Err(PyFailure::usage(
            "files: only code can read them; leave out code=False",
        ));
    }
    Ok(())
}

/// The name and content of a file.
pub(super) async fn read_file(file: GivenFile) -> Result<(String, Vec<u8>), PyFailure> {
    let path = match file {
        GivenFile::Content((name, content)) => {
            check_size(&name, content.len() as u64)?;
            return Ok((name, content));
        }
        GivenFile::Path(path) => path,
    };
    let read = spawn_blocking(move || {
        let unreadable = |error| {
            let why = format!("{}: cannot be read: {error}", path.display());
            PyFailure::new("SourceError", "file-unreadable", why)
        };
        let size = std::fs::metadata(&path).map_err(unreadable)?.len();
        check_size(&path.display().to_string(), size)?;
        let content = std::fs::read(&path).map_err(unreadable)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok::<_, PyFailure>((name.into_owned(), content))
    });
    read.await.map_err(PyFailure::internal)?
}

fn check_size(name: &str, size: u64) -> Result<(), PyFailure> {
    if size > MAX_FILE_BYTES {
        let why = format!("{name}: has {size} bytes; {MAX_FILE_BYTES} are allowed");
        return Err(PyFailure::new("UsageError", "file-too-large", why));
    }
    Ok(())
}
