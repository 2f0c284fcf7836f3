//! Our own sandboxes.

use crate::{IMPORT, PASS, PYTHON, Taken, Way, cpu, milliseconds, packages};
use prowess_sandbox::{Command, Execution, Layer, NewSession, Outcome, Policy, Sandbox, Settings};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OWNER: &str = "bench";

/// Sandboxes that are opened before anything is measured.
pub(crate) struct Ours {
    cold: Sandbox,
    warm: Sandbox,
    pool: Sandbox,
    /// A session that is used again and again.
    session: String,
    /// The same with numpy and PIL in it, where they could be had.
    layered: Option<(Layer, String)>,
    folder: PathBuf,
}

impl Ours {
    pub(crate) async fn new(folder: &Path) -> Self {
        let index = packages::index();
        let open = async |name: &str, warm| {
            let mut settings = Settings::new(folder.join(name));
            settings.allow_reduced = true;
            settings.warm = warm;
            settings.packages.clone_from(&index);
            Sandbox::open(settings).await.unwrap()
        };
        let (cold, warm) = (open("cold", 0).await, open("warm", 1).await);
        let pool = open("pool", 1).await;
        let session = warm.create(OWNER, NewSession::default()).await.unwrap();
        // Built twice, once for each folder; a server has one.
        let layer = packages::layer(&cold).await;
        packages::layer(&warm).await;
        let layered = match layer {
            Some(layer) => {
                let new = with(&layer);
                Some((layer, warm.create(OWNER, new).await.unwrap()))
            }
            None => None,
        };
        Self {
            cold,
            warm,
            pool,
            session,
            layered,
            folder: folder.to_owned(),
        }
    }

    /// Where the layer is on disk.
    pub(crate) fn layer(&self) -> Option<PathBuf> {
        self.layered.as_ref()?;
        let layers = std::fs::read_dir(self.folder.join("cold/state/layers"));
        layers.unwrap().flatten().next().map(|entry| entry.path())
    }

    pub(crate) async fn one(&self, way: Way) -> Option<Taken> {
        let argv = |code: &str| Command::Argv([PYTHON, "-c", code].map(String::from).into());
        let code = || Command::Python(PASS.into());
        match way {
            Way::Cold => Some(first(&self.cold, argv(PASS), NewSession::default()).await),
            Way::Session => Some(again(&self.warm, &self.session, argv(PASS)).await),
            Way::Waiting => Some(again(&self.warm, &self.session, code()).await),
            Way::Pool => {
                self.pool.warm_up(&Policy::default());
                wait_until_ready(&self.pool).await;
                Some(first(&self.pool, code(), NewSession::default()).await)
            }
            Way::ColdImport => {
                let (layer, _) = self.layered.as_ref()?;
                Some(first(&self.cold, argv(IMPORT), with(layer)).await)
            }
            Way::SessionImport => {
                let (_, session) = self.layered.as_ref()?;
                Some(again(&self.warm, session, argv(IMPORT)).await)
            }
            _ => None,
        }
    }
}

fn with(layer: &Layer) -> NewSession {
    NewSession {
        layer: Some(layer.clone()),
        ..NewSession::default()
    }
}

/// Making ahead is off the clock; let it finish and settle.
async fn wait_until_ready(sandbox: &Sandbox) {
    while sandbox.ready() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// The first command of a new session.
async fn first(sandbox: &Sandbox, command: Command, new: NewSession) -> Taken {
    let session = sandbox.create(OWNER, new).await.unwrap();
    let taken = exec(sandbox, &session, command).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    sandbox.destroy(OWNER, &session).await.unwrap();
    taken
}

/// A command after one of its kind, in a session that has had time since.
async fn again(sandbox: &Sandbox, session: &str, command: Command) -> Taken {
    exec(sandbox, session, command.clone()).await;
    wait_until_ready(sandbox).await;
    let taken = exec(sandbox, session, command).await;
    wait_until_ready(sandbox).await;
    taken
}

async fn exec(sandbox: &Sandbox, session: &str, command: Command) -> Taken {
    let execution = Execution {
        command,
        ..Execution::default()
    };
    let (start, before) = (Instant::now(), cpu());
    let report = sandbox.exec(OWNER, session, execution).await.unwrap();
    let wall = milliseconds(start);
    // What the dead have used is counted when they are buried.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let cpu = cpu() - before;
    assert_eq!(report.outcome, Outcome::Exit(0), "{}", report.stderr.text);
    Taken { wall, cpu }
}
