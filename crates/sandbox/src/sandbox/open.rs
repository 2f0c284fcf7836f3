//! Getting ready: the folders, a look at the host, the backend.

use super::pace::Pace;
use super::{Inner, Sandbox};
use crate::backend::Backend;
use crate::docker;
use crate::egress::Egress;
use crate::error::{During, Error};
use crate::native::{self, Native};
use crate::packages::builds::Builds;
use crate::packages::store::Layers;
use crate::policy::Limits;
use crate::probe::{self, Grade, Probe};
use crate::queue::Queue;
use crate::session::{self, SessionInfo, Sessions};
use crate::settings::{Engine, Settings};
use crate::skills::Skills;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of the state folder.
const FOLDERS: [&str; 4] = ["stage", "sessions", "skills", "layers"];

impl Sandbox {
    /// Looks at the host and gets ready.
    ///
    /// # Errors
    /// [`Error::Refused`] when the host gives too little, or less than all and the
    /// settings do not accept that.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        let (probe, backend) = look(&settings).await?;
        let backend = accept(&probe, backend, &settings)?;
        let state = state_folder(&fs::canonicalize(&settings.folder).during("folder")?);
        let root = is_root();
        let egress = Egress::new(&settings)?;
        let sessions = Sessions::new(&state, root, &settings);
        // What other processes and earlier ones made is known before the first request.
        sessions.clean_up();
        sessions.sync();
        let layers = Layers::new(&state, root, settings.layer_bytes);
        let skills = Skills::new(&state, settings.skill_bytes, settings.session_life);
        let builds = Builds::new(settings.running);
        let queue = Queue::new(&settings);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let sandbox = Self {
            inner: Arc::new(Inner {
                state,
                root,
                sessions,
                queue,
                pace: Pace::new(cores),
                probe,
                backend,
                has_proxy: matches!(settings.engine, Engine::Native),
                egress,
                packages: settings.packages,
                layers,
                skills,
                builds,
            }),
        };
        Ok(sandbox)
    }

    /// Looks at the host without getting ready: for people who ask what is missing.
    ///
    /// # Errors
    /// When the settings' folder cannot be used.
    pub async fn probe(settings: &Settings) -> Result<Probe, Error> {
        Ok(look(settings).await?.0)
    }

    /// The sessions kept under some settings, the most recently used first, without
    /// getting ready to run anything: for operators.
    #[must_use]
    pub fn kept(settings: &Settings) -> Vec<SessionInfo> {
        at_rest(settings).list()
    }

    /// Removes a session, whoever it belongs to: for operators.
    ///
    /// # Errors
    /// When there is no such session, or it is in use.
    pub async fn remove(settings: &Settings, id: &str) -> Result<(), Error> {
        let sessions = at_rest(settings);
        let known = sessions.list().into_iter().find(|session| session.id == id);
        let owner = known.map(|session| session.owner).unwrap_or_default();
        let held = sessions.hold(&owner, id).await?;
        sessions.destroy(&held)
    }
}

/// How to run without the layers that are missing.
const ACCEPT_REDUCED: &str = "accept a reduced sandbox with --reduced on the command line, or \
    reduced = true under [sandbox] in prowess.toml";

/// The backend, unless what was found is too little, or less than all and that is not
/// accepted.
fn accept(
    probe: &Probe,
    backend: Option<Arc<dyn Backend>>,
    settings: &Settings,
) -> Result<Arc<dyn Backend>, Error> {
    let mut advice: Vec<&str> = Vec::new();
    for text in probe.checks.iter().filter_map(|c| c.advice.as_deref()) {
        if !advice.contains(&text) {
            advice.push(text);
        }
    }
    let advice = advice.join("; ");
    match &probe.grade {
        Grade::Refused { reason } => Err(Error::Refused {
            reason: reason.clone(),
            advice,
        }),
        Grade::Reduced { missing } if !settings.allow_reduced => Err(Error::Refused {
            reason: lacking(missing, &settings.engine),
            advice: format!("{advice}; or {ACCEPT_REDUCED}"),
        }),
        Grade::Strict | Grade::Reduced { .. } => backend.ok_or(Error::LauncherGone),
    }
}

/// What is missing; of what no container has, why.
fn lacking(missing: &[String], engine: &Engine) -> String {
    let explained = |name: &String| match (engine, docker::why_missing(name)) {
        (Engine::Docker(_), Some(why)) => format!("{name} ({why})"),
        _ => name.clone(),
    };
    let missing: Vec<String> = missing.iter().map(explained).collect();
    format!("missing: {}", missing.join(", "))
}

fn at_rest(settings: &Settings) -> Sessions {
    Sessions::new(&state_folder(&settings.folder), is_root(), settings)
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Makes the folders and probes.
async fn look(settings: &Settings) -> Result<(Probe, Option<Arc<dyn Backend>>), Error> {
    let state = make_folders(&settings.folder)?;
    match &settings.engine {
        Engine::Native => {
            let (probe, native) = look_native(settings, &state).await?;
            Ok((probe, native.map(|native| Arc::new(native) as _)))
        }
        Engine::Docker(docker) => Ok(docker::probe(docker, &state, settings).await),
    }
}

async fn look_native(settings: &Settings, state: &Path) -> Result<(Probe, Option<Native>), Error> {
    let root = is_root();
    let base = native::base::describe(state, &settings.runtime, root)?;
    let sessions = Sessions::new(state, root, settings);
    let (trial, host_id) = sessions.make_trial()?;
    let folder = state.join(&trial);
    let owner = sessions.owner_id(host_id);
    let limits = Limits::default();
    session::put(
        &folder.join("data"),
        "before",
        b"x",
        owner,
        &limits,
        &|_| Ok(()),
    )?;
    let found = probe::probe(probe::Host {
        launcher: settings.launcher.clone(),
        base,
        cgroup: settings.cgroup.clone(),
        host_id,
        warm: settings.warm,
        data: format!("{trial}/data"),
    })
    .await;
    session::remove_folder(&folder)?;
    Ok(found)
}

fn state_folder(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// The outer folder keeps everyone else on the host out. Where we are root, what is in it
/// must let the ids pass that sandboxes run as, to what each of them may open.
fn make_folders(folder: &Path) -> Result<PathBuf, Error> {
    const MAKING: &str = "the sandbox's folder could not be made";
    fs::create_dir_all(folder).at(MAKING, folder)?;
    let folder = fs::canonicalize(folder).at(MAKING, folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).at(MAKING, &folder)?;
    let state = state_folder(&folder);
    let mode = if is_root() { 0o711 } else { 0o700 };
    for place in std::iter::once(state.clone()).chain(FOLDERS.map(|name| state.join(name))) {
        fs::create_dir_all(&place).at(MAKING, &place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).at(MAKING, &place)?;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docker::DockerSettings;
    use crate::probe::{Check, grade, missing};

    fn refusal(checks: Vec<Check>, engine: Engine) -> String {
        let probe = Probe {
            grade: grade(&checks),
            checks,
        };
        let mut settings = Settings::new(PathBuf::from("/nowhere"));
        settings.engine = engine;
        accept(&probe, None, &settings).unwrap_err().to_string()
    }

    #[test]
    fn what_docker_lacks_is_named_once_with_the_reason_and_the_way_to_accept_it() {
        let docker = Engine::Docker(DockerSettings::default());
        let message = refusal(docker::never(), docker);
        for said in [
            "landlock (",
            "hidden kernel tables (",
            "hard quota over session files (",
            "the native backend",
            "--reduced on the command line",
            "reduced = true under [sandbox] in prowess.toml",
        ] {
            assert_eq!(message.matches(said).count(), 1, "{said}: {message}");
        }
    }

    #[test]
    fn what_a_host_lacks_is_named_without_its_paths() {
        let path = "/sys/fs/cgroup/mine: denied".to_owned();
        let checks = vec![missing("control groups", path, "delegate one")];
        assert_eq!(
            refusal(checks, Engine::Native),
            "the sandbox is refused on this host: missing: control groups; delegate one; or \
             accept a reduced sandbox with --reduced on the command line, or reduced = true \
             under [sandbox] in prowess.toml"
        );
    }
}
