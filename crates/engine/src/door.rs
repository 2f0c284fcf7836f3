//! The way to the sandbox, which may still be opening when the server is ready.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use prowess_sandbox::{Error as SandboxError, Sandbox};

use crate::error::RunError;

/// The way to the sandbox. Clones lead to the same one.
#[derive(Clone)]
pub struct Door {
    off: bool,
    opened: Shared<BoxFuture<'static, Result<Sandbox, Arc<str>>>>,
}

impl Door {
    /// There is none, and why.
    #[must_use]
    pub fn off(why: &str) -> Self {
        let why: Arc<str> = why.into();
        Door {
            off: true,
            opened: std::future::ready(Err(why)).boxed().shared(),
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
        let task = tokio::spawn(opening);
        let opened = async move {
            let told = match task.await {
                Ok(opened) => opened.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            told.map_err(|why| {
                tracing::warn!(why, "there is no sandbox: code cannot be run");
                Arc::from(why)
            })
        };
        Door {
            off: false,
            opened: opened.boxed().shared(),
        }
    }

    /// Whether there is none and never will be.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// The sandbox, once it is open.
    ///
    /// # Errors
    /// [`RunError::NoSandbox`] when there is none.
    pub async fn sandbox(&self) -> Result<Sandbox, RunError> {
        let opened = self.opened.clone().await;
        opened.map_err(|why| RunError::NoSandbox {
            why: why.to_string(),
        })
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
