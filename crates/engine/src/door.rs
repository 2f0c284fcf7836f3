//! The way to the sandbox, which may still be opening when the server is ready.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use prowess_sandbox::{Error as SandboxError, Grade, Sandbox};

use crate::error::RunError;

/// The way to the sandbox. Clones lead to the same one.
#[derive(Clone)]
pub struct Door {
    off: bool,
    opened: Shared<BoxFuture<'static, Result<Sandbox, Arc<Missing>>>>,
}

/// Why there is no sandbox.
struct Missing {
    /// For clients: names no path of the host.
    reason: String,
    /// For operators: everything that is known.
    detail: String,
}

impl Door {
    /// There is none, and why.
    #[must_use]
    pub fn off(why: &str) -> Self {
        let missing = Missing {
            reason: why.to_owned(),
            detail: why.to_owned(),
        };
        Door {
            off: true,
            opened: std::future::ready(Err(Arc::new(missing))).boxed().shared(),
        }
    }

    /// It is open.
    #[must_use]
    pub fn ready(sandbox: Sandbox) -> Self {
        Door {
            off: false,
            opened: std::future::ready(Ok(sandbox)).boxed().shared(),
        }
    }

    /// It opens in the background, from now on.
    ///
    /// Must be called within a runtime.
    pub fn opening(
        opening: impl Future<Output = Result<Sandbox, SandboxError>> + Send + 'static,
    ) -> Self {
        let told = async {
            opening.await.map_err(|error| {
                let detail = error.detail();
                tracing::warn!(error = detail, "there is no sandbox: code cannot be run");
                let reason = without_paths(error.to_string());
                Arc::new(Missing { reason, detail })
            })
        };
        let opened = told.boxed().shared();
        // Whether or not anyone comes to the door.
        tokio::spawn(opened.clone());
        Door { off: false, opened }
    }

    /// Whether there is none and never will be.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// How strong the sandbox is, in a word.
    #[must_use]
    pub fn level(&self) -> &'static str {
        match self.opened.peek() {
            None => "probing",
            Some(Err(_)) if self.off => "off",
            Some(Err(_)) => "refused",
            Some(Ok(sandbox)) => match sandbox.level().grade {
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
        opened.map_err(|missing| RunError::NoSandbox {
            why: missing.reason.clone(),
        })
    }

    /// The same for whoever operates this process.
    ///
    /// # Errors
    /// [`RunError::NoSandbox`] when there is none, with paths of the host.
    pub async fn sandbox_for_operator(&self) -> Result<Sandbox, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|missing| RunError::NoSandbox {
            why: missing.detail.clone(),
        })
    }
}

/// What a client may read: a reason that names a path of the host is for the log.
fn without_paths(reason: String) -> String {
    let is_path = |word: &str| {
        word.trim_start_matches(['(', '`', '"', '\''])
            .starts_with('/')
    };
    match reason.split_whitespace().any(is_path) {
        true => "the sandbox cannot be used on this host; the server's log says why".into(),
        false => reason,
    }
}

impl Default for Door {
    fn default() -> Self {
        Door::off("no sandbox is set up")
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("off", &self.off).finish()
    }
}
