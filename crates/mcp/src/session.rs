//! What one session has: a toolbox, a place for its code, and those who listen.
//!
//! It is set up when first needed, so that a server answers `initialize` at once. When it
//! is dropped, its files and its sandbox session go.

use crate::listeners::{ListChanges, Listeners};
use crate::skill_provider::{SkillProvider, SkillSet};
use prowess_skill::Skill;
use prowess_toolbox::{Member, ToolOutcome, Toolbox, Workspace};
use rmcp::ErrorData;
use rmcp::service::SubscriptionContext;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};

/// How often the skills are looked at while somebody listens.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// A look may take this part of the time between two of them, and no more.
const REFRESH_INTERVAL_FACTOR: u32 = 50;

/// How long a result waits for a client that was told of new tools to ask for them. One
/// that asks later gets them later: its model is told of tools that it is not yet shown.
const RELIST_TIMEOUT: Duration = Duration::from_millis(300);

/// What a client gets to take in the tools it asked for.
const SETTLE_DELAY: Duration = Duration::from_millis(50);

/// What one session has.
pub struct McpSession {
    provider: Arc<dyn SkillProvider>,
    state: OnceCell<McpSessionState>,
    pub(crate) listeners: Listeners,
    /// How often its tools were listed.
    list_count: watch::Sender<u64>,
    /// Where its end is seen to, wherever it is dropped.
    runtime: Handle,
    /// Held for as long as the session is.
    _guard: Option<Box<dyn Send + Sync>>,
}

/// A desk that is set up.
#[derive(Debug)]
pub(crate) struct McpSessionState {
    pub(crate) toolbox: Toolbox,
    skills: Mutex<SkillSet>,
    /// Held while other skills are put in place.
    replace_lock: tokio::sync::Mutex<()>,
}

impl McpSession {
    /// A desk of these skills. Must be called within the runtime that outlives it.
    #[must_use]
    pub fn new(provider: Arc<dyn SkillProvider>) -> Self {
        McpSession {
            provider,
            state: OnceCell::new(),
            listeners: Listeners::default(),
            list_count: watch::Sender::default(),
            runtime: Handle::current(),
            _guard: None,
        }
    }

    /// The same, holding something until it is dropped.
    #[must_use]
    pub(crate) fn with_guard(mut self, guard: impl Send + Sync + 'static) -> Self {
        self._guard = Some(Box::new(guard));
        self
    }

    /// What it has, set up if it is not yet.
    pub(crate) async fn state(&self) -> Result<&McpSessionState, ErrorData> {
        self.state.get_or_try_init(|| self.create_state()).await
    }

    async fn create_state(&self) -> Result<McpSessionState, ErrorData> {
        let skills = self.provider.skills().await.map_err(internal_error)?;
        let mut options = self.provider.options();
        let workspace = self.provider.workspace(&skills).await;
        options.code_execution &= workspace.is_some();
        let members = skills.members.to_vec();
        let toolbox = Toolbox::new(members, workspace, options).map_err(internal_error)?;
        if self.provider.lists_skill_tools_at_once() {
            for problem in toolbox.show_skill_tools().await {
                tracing::warn!("{problem}");
            }
        }
        Ok(McpSessionState {
            toolbox,
            skills: Mutex::new(skills),
            replace_lock: tokio::sync::Mutex::default(),
        })
    }

    /// The same, with the skills there are now. Whoever listens is told if they are
    /// others. When they cannot be read, those known before stay.
    pub(crate) async fn refresh(&self) -> Result<&McpSessionState, ErrorData> {
        if self.state.get().is_none() {
            return self.state().await;
        }
        let state = self.state().await?;
        match self.provider.skills().await {
            Ok(skills) => {
                if state.replace_skills(skills).await {
                    self.listeners.notify_all(ListChanges::ALL).await;
                }
            }
            Err(error) => tracing::warn!(%error, "the skills known before are still offered"),
        }
        Ok(state)
    }

    /// Notes that its tools were listed.
    pub(crate) fn note_tools_listed(&self) {
        self.list_count.send_modify(|lists| *lists += 1);
    }

    /// Tells what a call has changed beside its result.
    pub(crate) async fn notify_changes(&self, outcome: &ToolOutcome, tools_before: usize) {
        let Some(state) = self.state.get() else {
            return;
        };
        let loaded =
            !outcome.loaded_skills.is_empty() && state.toolbox.tools().len() != tools_before;
        let changed = ListChanges {
            tools: loaded,
            prompts: false,
            resources: !outcome.outputs.is_empty(),
        };
        let mut list_count = self.list_count.subscribe();
        let is_heard_by_anyone = self.listeners.notify_all(changed).await;
        if loaded && is_heard_by_anyone {
            let relisted = tokio::time::timeout(RELIST_TIMEOUT, list_count.changed()).await;
            if relisted.is_ok() {
                tokio::time::sleep(SETTLE_DELAY).await;
            }
        }
    }

    /// Tells one subscription of changes until it ends.
    pub(crate) async fn run_subscription(&self, subscription: &SubscriptionContext) {
        let number = self.listeners.subscribe(subscription.sink().clone()).await;
        tokio::select! {
            () = subscription.cancelled() => {}
            () = self.watch_skills() => {}
        }
        self.listeners.remove(number);
    }

    /// Looks at the skills again and again.
    async fn watch_skills(&self) {
        loop {
            let began = Instant::now();
            // Said in the log where it is found.
            let _ = self.refresh().await;
            tokio::time::sleep(REFRESH_INTERVAL.max(began.elapsed() * REFRESH_INTERVAL_FACTOR))
                .await;
        }
    }

    /// The files of its workspace go, and whatever runs there ends.
    pub async fn close(&self) {
        if let Some(workspace) = self.workspace() {
            close_workspace(workspace.clone()).await;
        }
    }

    fn workspace(&self) -> Option<&Workspace> {
        self.state.get()?.toolbox.workspace()
    }
}

/// Looks at the skills for as long as the session lasts, for whoever was added as its
/// listener.
pub(crate) async fn watch_until_closed(
    session: Weak<McpSession>,
    is_over: impl Fn() -> bool + Send,
) {
    let mut pause = REFRESH_INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        let Some(session) = session.upgrade().filter(|_| !is_over()) else {
            return;
        };
        let began = Instant::now();
        // Said in the log where it is found.
        let _ = session.refresh().await;
        pause = REFRESH_INTERVAL.max(began.elapsed() * REFRESH_INTERVAL_FACTOR);
    }
}

impl McpSessionState {
    /// Puts other skills in place of those that were there; says whether they differ.
    async fn replace_skills(&self, skills: SkillSet) -> bool {
        let _held = self.replace_lock.lock().await;
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
    pub(crate) fn skills(&self) -> SkillSet {
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
    pub(crate) fn user_invocable(&self) -> Vec<Arc<Skill>> {
        let skills = self.skills();
        let members = skills.members.iter();
        let may = members.filter(|member| member.skill.invocation.by_user);
        may.map(|member| Arc::clone(&member.skill)).collect()
    }
}

impl Drop for McpSession {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace() {
            self.runtime.spawn(close_workspace(workspace.clone()));
        }
    }
}

impl std::fmt::Debug for McpSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("open", &self.state.get())
            .finish_non_exhaustive()
    }
}

async fn close_workspace(workspace: Workspace) {
    if let Err(error) = workspace.close().await {
        tracing::debug!(%error, "a workspace was gone already");
    }
}

pub(crate) fn internal_error(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
