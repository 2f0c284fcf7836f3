//! One session: a toolbox, a workspace for its code, and its listeners.
//!
//! The state is created on first use, so that a server answers `initialize` at once. When
//! the session is dropped, its files and its sandbox container are removed.

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

/// Interval at which skills are refreshed while a client is subscribed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// The interval is at least this many times the duration of a refresh.
const REFRESH_INTERVAL_FACTOR: u32 = 50;

/// How long a result waits for a notified client to list new tools. If the client lists
/// them later, its model reads about tools that it does not see yet.
const RELIST_TIMEOUT: Duration = Duration::from_millis(300);

/// Time for a client to process the tools it listed.
const SETTLE_DELAY: Duration = Duration::from_millis(50);

/// One session.
pub struct McpSession {
    provider: Arc<dyn SkillProvider>,
    state: OnceCell<McpSessionState>,
    pub(crate) listeners: Listeners,
    /// How often its tools were listed.
    list_count: watch::Sender<u64>,
    /// Runs the cleanup, wherever the session is dropped.
    runtime: Handle,
    /// Dropped with the session.
    _guard: Option<Box<dyn Send + Sync>>,
}

/// The state of a session in use.
#[derive(Debug)]
pub(crate) struct McpSessionState {
    pub(crate) toolbox: Toolbox,
    skills: Mutex<SkillSet>,
    /// Held while the skills are replaced.
    replace_lock: tokio::sync::Mutex<()>,
}

impl McpSession {
    /// A session with these skills. Must be called within a runtime that outlives it.
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

    /// Adds a guard that is dropped with the session.
    #[must_use]
    pub(crate) fn with_guard(mut self, guard: impl Send + Sync + 'static) -> Self {
        self._guard = Some(Box::new(guard));
        self
    }

    /// The state, created if needed.
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

    /// The state with the current skills. Listeners are notified of changes. If the skills
    /// cannot be read, the previous ones stay.
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
            Err(error) => tracing::warn!(%error, "keeping the previous skills"),
        }
        Ok(state)
    }

    /// Records that the tools were listed.
    pub(crate) fn note_tools_listed(&self) {
        self.list_count.send_modify(|lists| *lists += 1);
    }

    /// Notifies of what a call changed beside its result.
    pub(crate) async fn notify_changes(&self, outcome: &ToolOutcome, tools_before: usize) {
        let Some(state) = self.state.get() else {
            return;
        };
        let loaded =
            !outcome.loaded_skills.is_empty() && state.toolbox.tool_count() != tools_before;
        let changed = ListChanges {
            tools: loaded,
            prompts: false,
            resources: !outcome.outputs.is_empty(),
        };
        let mut list_count = self.list_count.subscribe();
        let is_notified = self.listeners.notify_all(changed).await;
        if loaded && is_notified {
            let relisted = tokio::time::timeout(RELIST_TIMEOUT, list_count.changed()).await;
            if relisted.is_ok() {
                tokio::time::sleep(SETTLE_DELAY).await;
            }
        }
    }

    /// Serves one subscription until it ends.
    pub(crate) async fn run_subscription(&self, subscription: &SubscriptionContext) {
        let number = self.listeners.subscribe(subscription.sink().clone()).await;
        tokio::select! {
            () = subscription.cancelled() => {}
            () = self.watch_skills() => {}
        }
        self.listeners.remove(number);
    }

    /// Refreshes the skills periodically.
    async fn watch_skills(&self) {
        loop {
            let began = Instant::now();
            // Logged where it occurs.
            let _ = self.refresh().await;
            tokio::time::sleep(REFRESH_INTERVAL.max(began.elapsed() * REFRESH_INTERVAL_FACTOR))
                .await;
        }
    }

    /// Removes the files of its workspace and stops what runs there.
    pub async fn close(&self) {
        if let Some(workspace) = self.workspace() {
            close_workspace(workspace.clone()).await;
        }
    }

    fn workspace(&self) -> Option<&Workspace> {
        self.state.get()?.toolbox.workspace()
    }
}

/// Refreshes the skills until the session ends, for its listeners.
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
        // Logged where it occurs.
        let _ = session.refresh().await;
        pause = REFRESH_INTERVAL.max(began.elapsed() * REFRESH_INTERVAL_FACTOR);
    }
}

impl McpSessionState {
    /// Replaces the skills; returns whether they differ.
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
                tracing::warn!(%error, "keeping the previous skills");
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

    /// The skills that users may invoke.
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
        f.debug_struct("McpSession")
            .field("state", &self.state.get())
            .finish_non_exhaustive()
    }
}

async fn close_workspace(workspace: Workspace) {
    if let Err(error) = workspace.close().await {
        tracing::debug!(%error, "the workspace was already gone");
    }
}

pub(crate) fn internal_error(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
