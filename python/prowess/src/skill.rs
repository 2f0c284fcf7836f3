//! One skill: loading, access, validation.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_skill::{
    ArchiveLayout, BundleLimits, Diagnostic, LoadOptions, LoadedSkill, Profile, Skill as Checked,
    rules,
};
use prowess_source::{Origin, refuse_left_out};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::failure::PyFailure;
use crate::sources::{FetchSettings, open_all};
use crate::work::Work;

/// A skill and its problems.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Skill {
    pub(crate) checked: Arc<Checked>,
    /// The folder whose name the skill's name must match.
    folder: Option<String>,
    problems: Vec<Diagnostic>,
}

impl Skill {
    fn from_origin(origin: &Origin) -> Result<Self, PyFailure> {
        let loaded = origin.load(&BundleLimits::default(), Profile::Lenient)?;
        let folder = match origin {
            Origin::Folder(_) => origin.name(),
            _ => None,
        };
        Self::from_loaded(&origin.path().display().to_string(), folder, loaded)
    }

    fn from_loaded(
        place: &str,
        folder: Option<String>,
        loaded: LoadedSkill,
    ) -> Result<Self, PyFailure> {
        let Some(skill) = loaded.skill else {
            return Err(PyFailure::not_a_skill(place, &loaded.diagnostics));
        };
        Ok(Skill {
            checked: Arc::new(skill),
            folder,
            problems: loaded.diagnostics,
        })
    }

    /// A skill that was checked before, such as a stored one.
    pub(crate) fn from_checked(checked: Arc<Checked>) -> Self {
        Skill {
            checked,
            folder: None,
            problems: Vec::new(),
        }
    }

    /// Checks that the skill can be uploaded.
    pub(crate) fn check_for_upload(&self) -> Result<(), PyFailure> {
        let loaded = self.load_with(Profile::Upload);
        match loaded.is_valid() {
            true => Ok(()),
            false => Err(PyFailure::not_a_skill(
                &self.checked.name,
                &loaded.diagnostics,
            )),
        }
    }

    /// The same files, checked with another profile.
    fn load_with(&self, profile: Profile) -> LoadedSkill {
        let options = LoadOptions {
            profile,
            folder: self.folder.as_deref(),
            fallback_name: Some(&self.checked.name),
            ..LoadOptions::default()
        };
        let mut loaded = Checked::load(self.checked.bundle.clone(), &options);
        // The files do not show what the folder has besides them.
        loaded.diagnostics.extend(self.left_out().cloned());
        if profile == Profile::Upload {
            refuse_left_out(&mut loaded.diagnostics);
        }
        loaded
    }

    /// The problems about files that were left out when the folder was read.
    fn left_out(&self) -> impl Iterator<Item = &Diagnostic> {
        let code = rules::CONTENT_LEFT_OUT.code;
        self.problems.iter().filter(move |found| found.code == code)
    }
}

/// The only skill of a source.
async fn open_one(source: PathBuf, fetch: FetchSettings) -> Result<Skill, PyFailure> {
    let mut opened = open_all(std::slice::from_ref(&source), &fetch).await?;
    let opened = opened.pop().transpose()?;
    let (origins, discovery) = opened.unwrap_or_default();
    if let Some(error) = discovery.unreadable.into_iter().next() {
        return Err(error.into());
    }
    let place = source.display();
    let mut origins = origins.into_iter();
    match (origins.next(), origins.len()) {
        (Some(origin), 0) => {
            let read = spawn_blocking(move || Skill::from_origin(&origin)).await;
            read.map_err(PyFailure::internal)?
        }
        (None, _) => {
            let why = format!("{place}: no SKILL.md in this folder or below");
            Err(PyFailure::new("SourceError", "source-not-a-skill", why))
        }
        (Some(_), more) => {
            let count = more + 1;
            let why = format!("{place}: holds {count} skills; select one, or use Toolbox");
            Err(PyFailure::new("SourceError", "source-several-skills", why))
        }
    }
}

#[pymethods]
impl Skill {
    /// Reads the only skill of a source.
    #[staticmethod]
    fn open(source: PathBuf, fetch: FetchSettings) -> Work {
        Work::new(open_one(source, fetch))
    }

    /// A skill of one file.
    #[staticmethod]
    fn from_text(py: Python<'_>, text: &str) -> PyResult<Skill> {
        let read = || Checked::from_text(text, &LoadOptions::default());
        let loaded = py.detach(read);
        Ok(Skill::from_loaded("SKILL.md", None, loaded)?)
    }

    /// All fields, as JSON.
    fn info(&self) -> PyResult<String> {
        let mut info = serde_json::to_value(&*self.checked).map_err(PyFailure::internal)?;
        if let Value::Object(fields) = &mut info {
            let digest = self.checked.manifest.digest().to_string();
            fields.insert("digest".into(), json!(digest));
        }
        Ok(info.to_string())
    }

    /// The Markdown after the frontmatter.
    fn body(&self) -> &str {
        &self.checked.body
    }

    /// The paths of its files.
    fn files(&self) -> Vec<String> {
        let files = self.checked.manifest.files().iter();
        files.map(|file| file.path.to_string()).collect()
    }

    /// The bytes of a file.
    fn read<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bundle = &self.checked.bundle;
        let Some(file) = bundle.get(path) else {
            let (name, files) = (&self.checked.name, self.files().join(", "));
            let why = format!("`{path}` does not exist in the skill `{name}`. Files: {files}");
            return Err(PyFailure::new("SourceError", "file-not-found", why).into());
        };
        Ok(PyBytes::new(py, &file.data))
    }

    /// The skill as a zip, as it is uploaded. Refused if a file of the folder was left out.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut left_out: Vec<_> = self.left_out().cloned().collect();
        if !left_out.is_empty() {
            refuse_left_out(&mut left_out);
            return Err(PyFailure::not_a_skill(&self.checked.name, &left_out).into());
        }
        let checked = Arc::clone(&self.checked);
        let pack = move || -> Result<Vec<u8>, PyFailure> {
            let layout = ArchiveLayout::wrapped(&checked.name);
            let layout = layout.map_err(|error| PyFailure::usage(error.to_string()))?;
            checked.bundle.to_zip(&layout).map_err(PyFailure::internal)
        };
        Ok(PyBytes::new(py, &py.detach(pack)?))
    }

    /// The diagnostics of a profile, as JSON.
    fn problems(&self, py: Python<'_>, profile: &str) -> PyResult<String> {
        let profile = match profile {
            "lenient" => return Ok(json!(self.problems).to_string()),
            "strict" => Profile::Strict,
            "upload" => Profile::Upload,
            other => {
                let why = format!("profile: `{other}` is not lenient, strict or upload");
                return Err(PyFailure::usage(why).into());
            }
        };
        let loaded = py.detach(|| self.load_with(profile));
        Ok(json!(loaded.diagnostics).to_string())
    }
}
