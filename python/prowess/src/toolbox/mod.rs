//! A toolbox over sources, and the sandbox in which its skills' code runs.
//!
//! | module | owns |
//! |---|---|
//! | `settings` | settings of a toolbox, and its sandbox |
//! | `source_scan` | reads the sources, and reports their problems |

mod settings;
mod source_scan;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_skill::BundleLimits;
use prowess_source::{LabelledSource, SearchBounds};
use prowess_toolbox::{
    ContentPart, Member, SkillSources, ToolOutcome, Toolbox as Tools, Workspace,
};
use pyo3::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::failure::PyFailure;
use crate::skill_source::Source;
use crate::sources::{FetchSettings, open_all};
use crate::work::Work;
use settings::{CodeWorkspace, ToolboxSettings, has_own_tools};
use source_scan::{
    SourceReport, merge_given, no_skills_failure, own_tools_problem, require_readable,
    scan_sources, too_many_problem,
};

/// Maximum skills whose own tools are listed at once: some models accept no more than a
/// hundred tools, and each `tools.py` must be inspected.
const MAX_LISTED_AT_ONCE: usize = 24;

/// A toolbox, shared by all operations on it.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Toolbox(Arc<Inner>);

struct Inner {
    tools: Tools,
    sources: Vec<PathBuf>,
    given_members: Vec<Member>,
    fetch: FetchSettings,
    skill_sources: tokio::sync::Mutex<SkillSources>,
    report: Mutex<SourceReport>,
    /// Problems that do not depend on the sources.
    standing: Vec<Value>,
    /// The sandbox's folder, if it is temporary.
    _folder: Option<TempDir>,
}

async fn open(
    sources: Vec<PathBuf>,
    given: Vec<Member>,
    settings: ToolboxSettings,
) -> Result<Toolbox, PyFailure> {
    let options = settings.options()?;
    let reveals = settings.lists_own_tools()?;
    settings.policy()?;
    let opened = require_readable(open_all(&sources, &settings.fetch).await?)?;
    let (skill_sources, mut scan) =
        scan_sources(new_skill_sources(&sources), opened, &given).await?;
    if scan.members.is_empty() {
        return Err(no_skills_failure(&sources, &scan.report));
    }
    let mut standing = Vec::new();
    let place = open_place(&settings, &scan.members, &mut standing).await?;
    let (workspace, folder) = place.unzip();
    let have_own = scan
        .members
        .iter()
        .filter(|m| has_own_tools(&m.skill))
        .count();
    let tools = Tools::new(scan.members, workspace, options)?;
    if reveals && have_own > MAX_LISTED_AT_ONCE {
        standing.push(too_many_problem(have_own, MAX_LISTED_AT_ONCE));
    } else if reveals {
        let problems = tools.show_skill_tools().await;
        scan.report
            .problems
            .extend(problems.iter().map(own_tools_problem));
    }
    Ok(Toolbox(Arc::new(Inner {
        tools,
        sources,
        given_members: given,
        fetch: settings.fetch,
        skill_sources: tokio::sync::Mutex::new(skill_sources),
        report: Mutex::new(scan.report),
        standing,
        _folder: folder.flatten(),
    })))
}

fn new_skill_sources(sources: &[PathBuf]) -> SkillSources {
    let labelled = |path: &PathBuf| LabelledSource {
        path: path.clone(),
        label: None,
    };
    let sources = sources.iter().map(labelled).collect();
    SkillSources::new(sources, SearchBounds::default(), BundleLimits::default())
}

/// Opens the workspace. If that fails, skills can still be read, unless the settings require
/// a sandbox.
async fn open_place(
    settings: &ToolboxSettings,
    members: &[Member],
    problems: &mut Vec<Value>,
) -> Result<Option<CodeWorkspace>, PyFailure> {
    match settings.open_workspace(members).await {
        Err(failure) if !settings.requires_sandbox() => {
            problems.push(failure.to_json());
            Ok(None)
        }
        placed => placed,
    }
}

impl Inner {
    fn lock_report(&self) -> MutexGuard<'_, SourceReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self) -> Result<bool, PyFailure> {
        let mut skill_sources = self.skill_sources.lock().await;
        let opened = open_all(&self.sources, &self.fetch).await?;
        let refreshed = tokio::task::block_in_place(|| skill_sources.refresh_from(opened));
        let mut scan = merge_given(refreshed, &self.given_members);
        if scan.changed {
            let problems = self.tools.replace(scan.members).await?;
            scan.report
                .problems
                .extend(problems.iter().map(own_tools_problem));
        }
        *self.lock_report() = scan.report;
        Ok(scan.changed)
    }

    async fn call(&self, name: &str, input: &Value) -> (String, Vec<Vec<u8>>) {
        call_result(self.tools.call(name, input, None).await)
    }

    /// The workspace, which has the files.
    fn workspace(&self) -> Result<&Workspace, PyFailure> {
        self.tools.workspace().ok_or_else(|| {
            let why = "there is no sandbox, and so no files; see `problems` for the reason";
            PyFailure::new("SandboxError", "sandbox-unavailable", why)
        })
    }

    async fn close(&self) -> Result<(), PyFailure> {
        match self.tools.workspace() {
            Some(workspace) => Ok(workspace.close().await?),
            None => Ok(()),
        }
    }
}

/// The result of a call as JSON, and its binary parts.
fn call_result(outcome: ToolOutcome) -> (String, Vec<Vec<u8>>) {
    let text = outcome.text_content();
    let mut blobs = Vec::new();
    let mut types = Vec::new();
    for part in outcome.content {
        if let ContentPart::Binary { mime, data } = part {
            types.push(mime);
            blobs.push(data.to_vec());
        }
    }
    let result = json!({
        "text": text,
        "is_error": outcome.is_error,
        "files": outcome.outputs,
        "skipped": outcome.skipped,
        "skill": outcome.skill,
        "loaded": outcome.loaded_skills,
        "attached": types,
    });
    (result.to_string(), blobs)
}

#[pymethods]
impl Toolbox {
    /// A toolbox of these sources.
    #[staticmethod]
    fn open(sources: Vec<Source<'_>>, settings: ToolboxSettings) -> Work {
        let (mut paths, mut given) = (Vec::new(), Vec::new());
        for source in sources {
            match source {
                Source::Path(path) => paths.push(path),
                Source::Skill(skill) => given.push(Member {
                    skill: Arc::clone(&skill.checked),
                    id: None,
                    title: None,
                }),
            }
        }
        Work::new(open(paths, given, settings))
    }

    /// The tools that a model may call now, as JSON.
    fn tools(&self) -> String {
        json!(self.0.tools.tools()).to_string()
    }

    /// The skills, one per line.
    fn catalogue(&self) -> String {
        self.0.tools.catalogue()
    }

    /// What the last reading of the sources found, as JSON.
    fn seen(&self) -> String {
        let seen = self.0.lock_report();
        let problems: Vec<_> = self.0.standing.iter().chain(&seen.problems).collect();
        let result = json!({
            "problems": problems, "shadowed": seen.shadowed, "skills": seen.skills,
        });
        result.to_string()
    }

    /// The names of the skills that are loaded.
    fn loaded(&self) -> Vec<String> {
        self.0.tools.loaded_skills()
    }

    /// Whether code can run.
    fn has_sandbox(&self) -> bool {
        self.0.tools.workspace().is_some()
    }

    /// Whether this toolbox has a tool of this name.
    fn owns(&self, name: &str) -> bool {
        self.0.tools.has_tool(name)
    }

    /// Calls a tool; its arguments are JSON.
    fn call(&self, name: String, arguments: &str) -> PyResult<Work> {
        let not_json = |error| PyFailure::usage(format!("the arguments are not JSON: {error}"));
        let input: Value = serde_json::from_str(arguments).map_err(not_json)?;
        let inner = Arc::clone(&self.0);
        Ok(Work::new(
            async move { Ok(inner.call(&name, &input).await) },
        ))
    }

    /// Loads skills without showing them to a model; returns problems.
    fn load(&self, names: Vec<String>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.tools.restore_loaded(&names).await) })
    }

    /// The bytes of one of the container's files.
    fn read(&self, path: String) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.workspace()?.get(&path).await?) })
    }

    /// Writes a file into the container.
    fn write(&self, path: String, content: Vec<u8>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.workspace()?.put(&path, content).await?) })
    }

    /// The paths of the container's files.
    fn files(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move {
            let files = inner.workspace()?.list().await?;
            Ok(files.into_iter().map(|file| file.path).collect::<Vec<_>>())
        })
    }

    /// Reads the sources again; returns whether the skills have changed.
    fn refresh(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { inner.refresh().await })
    }

    /// Deletes the container and its files.
    fn close(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { inner.close().await })
    }
}
