//! The way to the sandbox, which may still be opening when the server is ready.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use prowess_sandbox::{Error as SandboxError, Grade, Sandbox};

use crate::error::RunError;

/// The way to the sandbox. Clones lead to the same one.
#[derive(Clone)]
pub struct SandboxHandle {
    is_disabled: bool,
    opened: Shared<BoxFuture<'static, Result<Sandbox, Arc<SandboxFailure>>>>,
}

/// Why there is no sandbox.
struct SandboxFailure {
    /// For clients: names no path of the host.
    reason: String,
    /// For operators: everything that is known.
    detail: String,
}

impl SandboxHandle {
    /// There is none, and why.
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

    /// It is open.
    #[must_use]
    pub fn ready(sandbox: Sandbox) -> Self {
        SandboxHandle {
            is_disabled: false,
            opened: std::future::ready(Ok(sandbox)).boxed().shared(),
        }
    }

    /// It opens in the background, from now on.
    ///
    /// Must be called within a runtime.
    pub fn opening(
        opening: impl Future<Output = Result<Sandbox, SandboxError>> + Send + 'static,
    ) -> Self {
        let outcome = async {
            opening.await.map_err(|error| {
                let detail = error.detail();
                tracing::warn!(error = detail, "there is no sandbox: code cannot be run");
                let reason = redact_paths(error.to_string());
                Arc::new(SandboxFailure { reason, detail })
            })
        };
        let opened = outcome.boxed().shared();
        // Whether or not anyone comes to the door.
        tokio::spawn(opened.clone());
        SandboxHandle {
            is_disabled: false,
            opened,
        }
    }

    /// Whether there is none and never will be.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// How strong the sandbox is, in a word.
    #[must_use]
    pub fn level(&self) -> &'static str {
        match self.opened.peek() {
            None => "probing",
            Some(Err(_)) if self.is_disabled => "off",
            Some(Err(_)) => "refused",
            Some(Ok(sandbox)) => match sandbox.host_probe().grade {
                Grade::Strict => "strict",
                Grade::Reduced { .. } => "reduced",
                Grade::Refused { .. } => "refused",
            },
        }
    }

    /// The sandbox, once it is open.
    ///
    /// # Errors
    /// [`RunError::NoSandbox`] when there is none, in words for clients.
    pub async fn sandbox(&self) -> Result<Sandbox, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|missing| RunError::SandboxUnavailable {
            why: missing.reason.clone(),
        })
    }

    /// The same for whoever operates this process.
    ///
    /// # Errors
    /// [`RunError::NoSandbox`] when there is none, with paths of the host.
    pub async fn sandbox_for_operator(&self) -> Result<Sandbox, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|missing| RunError::SandboxUnavailable {
            why: missing.detail.clone(),
        })
    }
}

/// What a client may read: a reason that names a path of the host is for the log.
fn redact_paths(reason: String) -> String {
    let is_path = |word: &str| {
        word.trim_start_matches(['(', '`', '"', '\''])
            .starts_with('/')
    };
    match reason.split_whitespace().any(is_path) {
        true => "the sandbox cannot be used on this host; the server's log says why".into(),
        false => reason,
    }
}

impl Default for SandboxHandle {
    fn default() -> Self {
        SandboxHandle::disabled("no sandbox is set up")
    }
}

impl std::fmt::Debug for SandboxHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("off", &self.is_disabled)
            .finish()
    }
}
