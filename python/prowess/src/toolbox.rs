//! A toolbox over sources, and the sandbox in which its skills' code runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_sandbox::{DomainRule, Network, Policy, Sandbox, Settings as SandboxSettings};
use prowess_skill::{Limits, Skill as Checked};
use prowess_source::{Bounds, Labelled, Opened};
use prowess_toolbox::{
    Form, Member, Options, Outcome, Part, Problem, Refreshed, Shelf, Toolbox as Tools, Workspace,
};
use pyo3::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::failure::Failure;
use crate::skill::Skill;
use crate::sources::{Fetch, open_all};
use crate::work::Work;

/// The owner of sessions made from Python.
const OWNER: &str = "python";

/// Skills that a session shows at once, as many as a request may name.
const FEW: usize = 20;

/// Skills with tools of their own that are shown at once: some models take no more than
/// a hundred tools, and each `tools.py` must be looked at.
const MOST_AT_ONCE: usize = 24;

/// Where skills come from.
#[derive(FromPyObject)]
enum Source<'py> {
    Skill(PyRef<'py, Skill>),
    Path(PathBuf),
}

/// What a toolbox is to be: the attributes of `prowess._toolbox._Settings`.
#[derive(Debug, Clone, FromPyObject)]
struct Settings {
    form: String,
    code: bool,
    own_tools: String,
    all_names: bool,
    reserved: Vec<String>,
    sandbox: Option<bool>,
    reduced: bool,
    network: Vec<String>,
    timeout: Option<f64>,
    /// What a `tools.py` finds in `ctx.metadata`, as JSON.
    context: String,
    fetch: Fetch,
    launcher: PathBuf,
    data_dir: Option<PathBuf>,
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
    /// The sandbox's own, if it goes when this does.
    _folder: Option<TempDir>,
}

/// What the last look at the sources gave, beside tools.
#[derive(Debug, Default)]
struct Seen {
    problems: Vec<Value>,
    shadowed: Vec<Value>,
    skills: Vec<Value>,
}

/// Skills, and whether they are other ones than before.
struct Looked {
    members: Vec<Member>,
    changed: bool,
    seen: Seen,
}

impl Settings {
    fn options(&self) -> Result<Options, Failure> {
        let timeout = self.timeout.map(Duration::try_from_secs_f64);
        let no_time = |error| Failure::usage(format!("timeout: {error}"));
        let no_object = |error| Failure::usage(format!("context: {error}"));
        Ok(Options {
            form: match self.form.as_str() {
                "compact" => Form::Compact,
                "per-skill" => Form::PerSkill,
                other => {
                    let why = format!("form: `{other}` is not compact or per-skill");
                    return Err(Failure::usage(why));
                }
            },
            code: self.code,
            all_names: self.all_names,
            reserved: self.reserved.clone(),
            timeout: timeout.transpose().map_err(no_time)?,
            context: serde_json::from_str(&self.context).map_err(no_object)?,
            ..Options::default()
        })
    }

    fn policy(&self) -> Result<Policy, Failure> {
        let domains = self.network.iter().map(|text| text.parse::<DomainRule>());
        let domains: Result<Vec<_>, _> = domains.collect();
        let domains = domains.map_err(|error| Failure::usage(format!("network: {error}")))?;
        Ok(Policy {
            network: match domains.is_empty() {
                true => Network::Off,
                false => Network::Allow(domains),
            },
            ..Policy::default()
        })
    }

    /// Whether own tools are shown before skills are loaded.
    fn reveals(&self) -> Result<bool, Failure> {
        match self.own_tools.as_str() {
            "on-load" => Ok(false),
            "at-once" => Ok(true),
            other => {
                let why = format!("own_tools: `{other}` is not on-load or at-once");
                Err(Failure::usage(why))
            }
        }
    }

    /// A place for code, if one is wanted, and a folder that goes with it.
    async fn workspace(&self, members: &[Member]) -> Result<(Workspace, Option<TempDir>), Failure> {
        let temporary = match &self.data_dir {
            Some(_) => None,
            None => Some(TempDir::with_prefix("prowess-").map_err(Failure::broken)?),
        };
        let folder = match (&temporary, &self.data_dir) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, folder) => folder.clone().unwrap_or_default(),
        };
        let mut settings = SandboxSettings::new(folder.join("sandbox"));
        settings.launcher = self.launcher.clone();
        settings.allow_reduced = self.reduced;
        // One agent's toolbox: nothing is made ahead for others.
        settings.warm = 0;
        let sandbox = Sandbox::open(settings).await?;
        let few = members.len() <= FEW;
        let skills = members.iter().filter(|_| few);
        let skills = skills.map(|member| Arc::clone(&member.skill)).collect();
        let workspace = Workspace::fresh(sandbox, OWNER, skills, self.policy()?);
        Ok((workspace, temporary))
    }
}

/// Whether there is anything to run.
fn runs(skill: &Checked) -> bool {
    has_own(skill) || skill.bundle.len() > 1
}

/// Whether it has tools of its own.
fn has_own(skill: &Checked) -> bool {
    skill.python_tools || !skill.tools.is_empty()
}

async fn open(
    sources: Vec<PathBuf>,
    given: Vec<Member>,
    settings: Settings,
) -> Result<Toolbox, Failure> {
    let mut options = settings.options()?;
    let reveals = settings.reveals()?;
    settings.policy()?;
    let labelled = |path: &PathBuf| Labelled {
        path: path.clone(),
        label: None,
    };
    let labelled = sources.iter().map(labelled).collect();
    let shelf = Shelf::new(labelled, Bounds::default(), Limits::default());
    let opened = readable(open_all(&sources, &settings.fetch).await?)?;
    let (shelf, mut looked) = look(shelf, opened, &given).await?;
    if looked.members.is_empty() {
        return Err(nothing(&sources, &looked.seen));
    }
    let wanted = match settings.sandbox {
        Some(wanted) => wanted,
        None => options.code || looked.members.iter().any(|member| runs(&member.skill)),
    };
    let must = settings.sandbox == Some(true) || options.code;
    let (workspace, folder) = match wanted {
        false => (None, None),
        true => match settings.workspace(&looked.members).await {
            Ok((workspace, folder)) => (Some(workspace), folder),
            Err(failure) if must => return Err(failure),
            Err(failure) => {
                looked.seen.problems.push(failure.told());
                (None, None)
            }
        },
    };
    options.code &= workspace.is_some();
    let have_own = looked.members.iter().filter(|m| has_own(&m.skill)).count();
    let tools = Tools::new(looked.members, workspace, options)?;
    if reveals && have_own > MOST_AT_ONCE {
        looked.seen.problems.push(too_many(have_own));
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
        _folder: folder,
    })))
}

/// Sources that are not there are the caller's mistake; what is wrong inside one is told.
fn readable(opened: Vec<Opened>) -> Result<Vec<Opened>, Failure> {
    let readable = opened.into_iter().map(|one| one.map(Ok));
    let readable: Result<Vec<Opened>, _> = readable.collect();
    Ok(readable?)
}

/// Looks at sources that were opened. What was given goes before what they hold.
async fn look(
    mut shelf: Shelf,
    opened: Vec<Opened>,
    given: &[Member],
) -> Result<(Shelf, Looked), Failure> {
    let read = spawn_blocking(move || {
        let refreshed = shelf.take(opened);
        (shelf, refreshed)
    });
    let (shelf, refreshed) = read.await.map_err(Failure::broken)?;
    Ok((shelf, looked(refreshed, given)))
}

fn looked(refreshed: Refreshed, given: &[Member]) -> Looked {
    let mut seen = Seen::default();
    let mut members = refreshed.members;
    for member in given {
        let name = &member.skill.name;
        if let Some(hidden) = members.iter_mut().find(|other| other.skill.name == *name) {
            *hidden = member.clone();
            let by = "a Skill that was given";
            seen.shadowed
                .push(json!({ "name": name, "hidden": null, "by": by }));
        } else {
            members.push(member.clone());
        }
    }
    seen.problems.extend(refreshed.problems.iter().map(problem));
    if refreshed.cut_short {
        let why = "the search ended early: there are too many folders";
        seen.problems
            .push(json!({ "code": "search-cut-short", "message": why }));
    }
    for shadowed in &refreshed.shadowed {
        let (hidden, by) = (shadowed.hidden.display(), shadowed.by.display());
        seen.shadowed.push(json!({
            "name": shadowed.name, "hidden": hidden.to_string(), "by": by.to_string(),
        }));
    }
    let about = |member: &Member| {
        let skill = &member.skill;
        json!({ "name": skill.name, "description": skill.description })
    };
    seen.skills = members.iter().map(about).collect();
    Looked {
        members,
        changed: refreshed.changed,
        seen,
    }
}

fn problem(problem: &Problem) -> Value {
    let path = problem.path.display().to_string();
    json!({ "code": problem.code, "message": problem.message, "path": path })
}

fn own_tools(why: &String) -> Value {
    json!({ "code": "own-tools-missing", "message": why })
}

fn too_many(skills: usize) -> Value {
    let why = format!(
        "{skills} skills have tools of their own, more than the {MOST_AT_ONCE} whose tools are \
         shown at once: each skill's are shown when it is loaded"
    );
    json!({ "code": "own-tools-many", "message": why, "severity": "warning" })
}

/// Why there is no skill at all.
fn nothing(sources: &[PathBuf], seen: &Seen) -> Failure {
    let text = |field: &str| seen.problems.first()?.get(field)?.as_str();
    if let (Some(code), Some(message)) = (text("code"), text("message")) {
        return Failure::new("SourceError", code, message);
    }
    let places: Vec<_> = sources.iter().map(|s| s.display().to_string()).collect();
    let why = match places.is_empty() {
        true => "no sources were given".to_owned(),
        false => format!("{}: no SKILL.md here or below", places.join(", ")),
    };
    Failure::new("SourceError", "source-not-a-skill", why)
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
        let seen = json!({
            "problems": seen.problems, "shadowed": seen.shadowed, "skills": seen.skills,
        });
        seen.to_string()
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
