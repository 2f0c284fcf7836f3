//! What one session has: a toolbox, a place for its code, and those who listen.
//!
//! It is set up when first needed, so that a server answers `initialize` at once. When it
//! is dropped, its files and its sandbox session go.

use crate::listeners::{Changed, Listeners};
use crate::supply::{Skills, Supply};
use prowess_skill::Skill;
use prowess_toolbox::{Member, Outcome, Toolbox, Workspace};
use rmcp::ErrorData;
use rmcp::service::SubscriptionContext;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};

/// How often the skills are looked at while somebody listens.
const PERIOD: Duration = Duration::from_secs(2);

/// A look may take this part of the time between two of them, and no more.
const SHARE: u32 = 50;

/// How long a result waits for a client that was told of new tools to ask for them. One
/// that asks later gets them later: its model is told of tools that it is not yet shown.
const RELIST: Duration = Duration::from_millis(300);

/// What a client gets to take in the tools it asked for.
const SETTLE: Duration = Duration::from_millis(50);

/// What one session has.
pub struct Desk {
    supply: Arc<dyn Supply>,
    open: OnceCell<Open>,
    pub(crate) listeners: Listeners,
    /// How often its tools were listed.
    lists: watch::Sender<u64>,
    /// Where its end is seen to, wherever it is dropped.
    home: Handle,
    /// Held for as long as the session is.
    _seat: Option<Box<dyn Send + Sync>>,
}

/// A desk that is set up.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) toolbox: Toolbox,
    skills: Mutex<Skills>,
    /// Held while other skills are put in place.
    changing: tokio::sync::Mutex<()>,
}

impl Desk {
    /// A desk of these skills. Must be called within the runtime that outlives it.
    #[must_use]
    pub fn new(supply: Arc<dyn Supply>) -> Self {
        Desk {
            supply,
            open: OnceCell::new(),
            listeners: Listeners::default(),
            lists: watch::Sender::default(),
            home: Handle::current(),
            _seat: None,
        }
    }

    /// The same, holding something until it is dropped.
    #[must_use]
    pub(crate) fn holding(mut self, seat: impl Send + Sync + 'static) -> Self {
        self._seat = Some(Box::new(seat));
        self
    }

    /// What it has, set up if it is not yet.
    pub(crate) async fn open(&self) -> Result<&Open, ErrorData> {
        self.open.get_or_try_init(|| self.set_up()).await
    }

    async fn set_up(&self) -> Result<Open, ErrorData> {
        let skills = self.supply.skills().await.map_err(internal)?;
        let mut options = self.supply.options();
        let workspace = self.supply.workspace(&skills).await;
        options.code &= workspace.is_some();
        let members = skills.members.to_vec();
        let toolbox = Toolbox::new(members, workspace, options).map_err(internal)?;
        if self.supply.lists_own_tools_at_once() {
            for problem in toolbox.reveal().await {
                tracing::warn!("{problem}");
            }
        }
        Ok(Open {
            toolbox,
            skills: Mutex::new(skills),
            changing: tokio::sync::Mutex::default(),
        })
    }

    /// The same, with the skills there are now. Whoever listens is told if they are
    /// others. When they cannot be read, those known before stay.
    pub(crate) async fn refreshed(&self) -> Result<&Open, ErrorData> {
        if self.open.get().is_none() {
            return self.open().await;
        }
        let open = self.open().await?;
        match self.supply.skills().await {
            Ok(skills) => {
                if open.take(skills).await {
                    self.listeners.tell(Changed::ALL).await;
                }
            }
            Err(error) => tracing::warn!(%error, "the skills known before are still offered"),
        }
        Ok(open)
    }

    /// Notes that its tools were listed.
    pub(crate) fn listed(&self) {
        self.lists.send_modify(|lists| *lists += 1);
    }

    /// Tells what a call has changed beside its result.
    pub(crate) async fn tell_of(&self, outcome: &Outcome, tools_before: usize) {
        let Some(open) = self.open.get() else {
            return;
        };
        let loaded = !outcome.loaded.is_empty() && open.toolbox.tools().len() != tools_before;
        let changed = Changed {
            tools: loaded,
            prompts: false,
            resources: !outcome.outputs.is_empty(),
        };
        let mut lists = self.lists.subscribe();
        let told = self.listeners.tell(changed).await;
        if loaded && told {
            let asked = tokio::time::timeout(RELIST, lists.changed()).await;
            if asked.is_ok() {
                tokio::time::sleep(SETTLE).await;
            }
        }
    }

    /// Tells one subscription of changes until it ends.
    pub(crate) async fn listen(&self, subscription: &SubscriptionContext) {
        let number = self.listeners.subscribe(subscription.sink().clone()).await;
        tokio::select! {
            () = subscription.cancelled() => {}
            () = self.watch() => {}
        }
        self.listeners.remove(number);
    }

    /// Looks at the skills again and again.
    async fn watch(&self) {
        loop {
            let began = Instant::now();
            // Said in the log where it is found.
            let _ = self.refreshed().await;
            tokio::time::sleep(PERIOD.max(began.elapsed() * SHARE)).await;
        }
    }

    /// The files of its workspace go, and whatever runs there ends.
    pub async fn close(&self) {
        if let Some(workspace) = self.workspace() {
            close(workspace.clone()).await;
        }
    }

    fn workspace(&self) -> Option<&Workspace> {
        self.open.get()?.toolbox.workspace()
    }
}

/// Looks at the skills for as long as the session lasts, for whoever was added as its
/// listener.
pub(crate) async fn watch_while_open(desk: Weak<Desk>, is_over: impl Fn() -> bool + Send) {
    let mut pause = PERIOD;
    loop {
        tokio::time::sleep(pause).await;
        let Some(desk) = desk.upgrade().filter(|_| !is_over()) else {
            return;
        };
        let began = Instant::now();
        // Said in the log where it is found.
        let _ = desk.refreshed().await;
        pause = PERIOD.max(began.elapsed() * SHARE);
    }
}

impl Open {
    /// Puts other skills in place of those that were there; says whether they differ.
    async fn take(&self, skills: Skills) -> bool {
        let _held = self.changing.lock().await;
        if self.skills().revision == skills.revision {
            return false;
        }
        match self.toolbox.replace(skills.members.to_vec()).await {
            Ok(problems) => {
                for problem in problems {
                    tracing::warn!("{problem}");
                }
                *self.skills.lock().unwrap_or_else(PoisonError::into_inner) = skills;
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the skills known before are still offered");
                false
            }
        }
    }

    /// The skills, sorted by name.
    pub(crate) fn skills(&self) -> Skills {
        let skills = self.skills.lock().unwrap_or_else(PoisonError::into_inner);
        skills.clone()
    }

    /// The skill of this name.
    pub(crate) fn skill(&self, name: &str) -> Option<Member> {
        let skills = self.skills();
        let by_name = |member: &Member| member.skill.name.as_str().cmp(name);
        let at = skills.members.binary_search_by(by_name).ok()?;
        skills.members.get(at).cloned()
    }

    /// The skills that people may start.
    pub(crate) fn for_people(&self) -> Vec<Arc<Skill>> {
        let skills = self.skills();
        let members = skills.members.iter();
        let may = members.filter(|member| member.skill.invocation.by_user);
        may.map(|member| Arc::clone(&member.skill)).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace() {
            self.home.spawn(close(workspace.clone()));
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("open", &self.open.get())
            .finish_non_exhaustive()
    }
}

async fn close(workspace: Workspace) {
    if let Err(error) = workspace.close().await {
        tracing::debug!(%error, "a workspace was gone already");
    }
}

pub(crate) fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
