//! A toolbox over sources, and the sandbox in which its skills' code runs.
//!
//! | module | owns |
//! |---|---|
//! | `settings` | what a toolbox is to be, and the sandbox that comes of it |
//! | `look` | what the sources hold, and what is wrong with any |

mod look;
mod settings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_skill::Limits;
use prowess_source::{Bounds, Labelled};
use prowess_toolbox::{Member, Outcome, Part, Shelf, Toolbox as Tools, Workspace};
use pyo3::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::failure::Failure;
use crate::skill::Skill;
use crate::sources::{Fetch, open_all};
use crate::work::Work;
use look::{Seen, look, looked, nothing, own_tools, readable, too_many};
use settings::{Place, Settings, has_own};

/// Skills with tools of their own that are shown at once: some models take no more than
/// a hundred tools, and each `tools.py` must be looked at.
const MOST_AT_ONCE: usize = 24;

/// Where skills come from.
#[derive(FromPyObject)]
enum Source<'py> {
    Skill(PyRef<'py, Skill>),
    Path(PathBuf),
}

/// A toolbox, shared by all work that is under way in it.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Toolbox(Arc<Inner>);

struct Inner {
    tools: Tools,
    sources: Vec<PathBuf>,
    given: Vec<Member>,
    fetch: Fetch,
    shelf: tokio::sync::Mutex<Shelf>,
    seen: Mutex<Seen>,
    /// Problems that are not the sources', and stay whatever these hold.
    standing: Vec<Value>,
    /// The sandbox's own, if it goes when this does.
    _folder: Option<TempDir>,
}

async fn open(
    sources: Vec<PathBuf>,
    given: Vec<Member>,
    settings: Settings,
) -> Result<Toolbox, Failure> {
    let options = settings.options()?;
    let reveals = settings.reveals()?;
    settings.policy()?;
    let opened = readable(open_all(&sources, &settings.fetch).await?)?;
    let (shelf, mut looked) = look(shelf(&sources), opened, &given).await?;
    if looked.members.is_empty() {
        return Err(nothing(&sources, &looked.seen));
    }
    let mut standing = Vec::new();
    let place = place(&settings, &looked.members, &mut standing).await?;
    let (workspace, folder) = place.unzip();
    let have_own = looked.members.iter().filter(|m| has_own(&m.skill)).count();
    let tools = Tools::new(looked.members, workspace, options)?;
    if reveals && have_own > MOST_AT_ONCE {
        standing.push(too_many(have_own, MOST_AT_ONCE));
    } else if reveals {
        let problems = tools.reveal().await;
        looked.seen.problems.extend(problems.iter().map(own_tools));
    }
    Ok(Toolbox(Arc::new(Inner {
        tools,
        sources,
        given,
        fetch: settings.fetch,
        shelf: tokio::sync::Mutex::new(shelf),
        seen: Mutex::new(looked.seen),
        standing,
        _folder: folder.flatten(),
    })))
}

fn shelf(sources: &[PathBuf]) -> Shelf {
    let labelled = |path: &PathBuf| Labelled {
        path: path.clone(),
        label: None,
    };
    let sources = sources.iter().map(labelled).collect();
    Shelf::new(sources, Bounds::default(), Limits::default())
}

/// A place for code. Where it cannot be had, skills can still be read, unless somebody
/// insists.
async fn place(
    settings: &Settings,
    members: &[Member],
    problems: &mut Vec<Value>,
) -> Result<Option<Place>, Failure> {
    match settings.place(members).await {
        Err(failure) if !settings.insists() => {
            problems.push(failure.told());
            Ok(None)
        }
        placed => placed,
    }
}

impl Inner {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self) -> Result<bool, Failure> {
        let mut shelf = self.shelf.lock().await;
        let opened = open_all(&self.sources, &self.fetch).await?;
        let refreshed = tokio::task::block_in_place(|| shelf.take(opened));
        let mut looked = looked(refreshed, &self.given);
        if looked.changed {
            let problems = self.tools.replace(looked.members).await?;
            looked.seen.problems.extend(problems.iter().map(own_tools));
        }
        *self.seen() = looked.seen;
        Ok(looked.changed)
    }

    async fn call(&self, name: &str, input: &Value) -> (String, Vec<Vec<u8>>) {
        told(self.tools.call(name, input, None).await)
    }

    /// Where files are.
    fn workspace(&self) -> Result<&Workspace, Failure> {
        self.tools.workspace().ok_or_else(|| {
            let why = "there is no sandbox, and so no files; `problems` may say why";
            Failure::new("SandboxError", "sandbox-unavailable", why)
        })
    }

    async fn close(&self) -> Result<(), Failure> {
        match self.tools.workspace() {
            Some(workspace) => Ok(workspace.close().await?),
            None => Ok(()),
        }
    }
}

/// What came of a call, as JSON, and the bytes that have no place in it.
fn told(outcome: Outcome) -> (String, Vec<Vec<u8>>) {
    let text = outcome.shown_text();
    let mut blobs = Vec::new();
    let mut types = Vec::new();
    for part in outcome.shown {
        if let Part::Binary { mime, data } = part {
            types.push(mime);
            blobs.push(data.to_vec());
        }
    }
    let told = json!({
        "text": text,
        "is_error": outcome.is_error,
        "files": outcome.outputs,
        "skipped": outcome.skipped,
        "skill": outcome.skill,
        "loaded": outcome.loaded,
        "attached": types,
    });
    (told.to_string(), blobs)
}

#[pymethods]
impl Toolbox {
    /// A toolbox of these sources.
    #[staticmethod]
    fn open(sources: Vec<Source<'_>>, settings: Settings) -> Work {
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

    /// The skills there are, a line each.
    fn catalogue(&self) -> String {
        self.0.tools.catalogue()
    }

    /// What the last look at the sources gave, as JSON.
    fn seen(&self) -> String {
        let seen = self.0.seen();
        let problems: Vec<_> = self.0.standing.iter().chain(&seen.problems).collect();
        let told = json!({
            "problems": problems, "shadowed": seen.shadowed, "skills": seen.skills,
        });
        told.to_string()
    }

    /// The names of the skills that are loaded.
    fn loaded(&self) -> Vec<String> {
        self.0.tools.loaded()
    }

    /// Whether code can run.
    fn has_sandbox(&self) -> bool {
        self.0.tools.workspace().is_some()
    }

    /// Whether a call of this name is for this toolbox.
    fn owns(&self, name: &str) -> bool {
        self.0.tools.owns(name)
    }

    /// Calls a tool; its arguments are JSON.
    fn call(&self, name: String, arguments: &str) -> PyResult<Work> {
        let not_json = |error| Failure::usage(format!("the arguments are not JSON: {error}"));
        let input: Value = serde_json::from_str(arguments).map_err(not_json)?;
        let inner = Arc::clone(&self.0);
        Ok(Work::new(
            async move { Ok(inner.call(&name, &input).await) },
        ))
    }

    /// Loads skills without showing them; gives what stands in the way.
    fn load(&self, names: Vec<String>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.tools.resume(&names).await) })
    }

    /// The bytes of one of the session's files.
    fn read(&self, path: String) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.workspace()?.get(&path).await?) })
    }

    /// Writes a file for calls to find.
    fn write(&self, path: String, content: Vec<u8>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(inner.workspace()?.put(&path, content).await?) })
    }

    /// The paths of the session's files.
    fn files(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move {
            let files = inner.workspace()?.list().await?;
            Ok(files.into_iter().map(|file| file.path).collect::<Vec<_>>())
        })
    }

    /// Looks at the sources again; tells whether there is anything new.
    fn refresh(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { inner.refresh().await })
    }

    /// Ends the session and removes its files.
    fn close(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { inner.close().await })
    }
}
