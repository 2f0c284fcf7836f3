//! A handle of the sandbox, which may still be opening when the server is ready.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use prowess_sandbox::{Error as SandboxError, Grade, SandboxStatistics, SharedSandboxes};

use crate::error::RunError;

/// A handle of the sandbox. Clones share it.
#[derive(Clone)]
pub struct SandboxHandle {
    is_disabled: bool,
    opened: Shared<BoxFuture<'static, Result<SharedSandboxes, Arc<SandboxFailure>>>>,
}

/// Why there is no sandbox.
struct SandboxFailure {
    /// For clients: without paths of the host.
    reason: String,
    /// For operators: with all details.
    detail: String,
}

impl SandboxHandle {
    /// No sandbox, for this reason.
    #[must_use]
    pub fn disabled(why: &str) -> Self {
        let missing = SandboxFailure {
            reason: why.to_owned(),
            detail: why.to_owned(),
        };
        SandboxHandle {
            is_disabled: true,
            opened: std::future::ready(Err(Arc::new(missing))).boxed().shared(),
        }
    }

    /// A sandbox that is open.
    #[must_use]
    pub fn ready(sandbox: impl Into<SharedSandboxes>) -> Self {
        SandboxHandle {
            is_disabled: false,
            opened: std::future::ready(Ok(sandbox.into())).boxed().shared(),
        }
    }

    /// A sandbox that opens in the background, from now on.
    ///
    /// Must be called within a runtime.
    pub fn opening<S: Into<SharedSandboxes> + 'static>(
        opening: impl Future<Output = Result<S, SandboxError>> + Send + 'static,
    ) -> Self {
        let outcome = async {
            let opened = opening
                .await
                .map(|opened| -> SharedSandboxes { opened.into() });
            opened.map_err(|error| {
                let detail = error.detail();
                tracing::warn!(error = detail, "no sandbox: code cannot be run");
                let reason = redact_paths(error.to_string());
                Arc::new(SandboxFailure { reason, detail })
            })
        };
        let opened = outcome.boxed().shared();
        // Opens it even if nobody waits for it.
        tokio::spawn(opened.clone());
        SandboxHandle {
            is_disabled: false,
            opened,
        }
    }

    /// Whether there is no sandbox and none is opening.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// The level of isolation, as health checks show it.
    #[must_use]
    pub fn level(&self) -> &'static str {
        match self.opened.peek() {
            _ if self.is_disabled => "off",
            None => "probing",
            Some(Err(_)) => "refused",
            Some(Ok(sandbox)) => match sandbox.grade() {
                Grade::Strict => "strict",
                Grade::Reduced { .. } => "reduced",
                Grade::Refused { .. } => "refused",
            },
        }
    }

    /// What commands did, if the sandbox is open.
    #[must_use]
    pub fn statistics(&self) -> Option<SandboxStatistics> {
        match self.opened.peek() {
            Some(Ok(sandbox)) => Some(sandbox.statistics()),
            _ => None,
        }
    }

    /// The sandbox, once it is open.
    ///
    /// # Errors
    /// [`RunError::SandboxUnavailable`] when there is none, with a reason for clients.
    pub async fn sandbox(&self) -> Result<SharedSandboxes, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|missing| RunError::SandboxUnavailable {
            why: missing.reason.clone(),
        })
    }

    /// The same, for the operator of this process.
    ///
    /// # Errors
    /// [`RunError::SandboxUnavailable`] when there is none, with paths of the host.
    pub async fn sandbox_for_operator(&self) -> Result<SharedSandboxes, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|missing| RunError::SandboxUnavailable {
            why: missing.detail.clone(),
        })
    }
}

/// The reason as clients may read it: one with a path of the host is only logged.
fn redact_paths(reason: String) -> String {
    let is_path = |word: &str| {
        word.trim_start_matches(['(', '`', '"', '\''])
            .starts_with('/')
    };
    if reason.split_whitespace().any(is_path) {
        "the sandbox cannot be used on this host; see the server's log".into()
    } else {
        reason
    }
}

impl Default for SandboxHandle {
    fn default() -> Self {
        SandboxHandle::disabled("no sandbox is configured")
    }
}

impl std::fmt::Debug for SandboxHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxHandle")
            .field("is_disabled", &self.is_disabled)
            .finish()
    }
}
