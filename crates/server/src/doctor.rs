//! Checks of the installation: what `prowess doctor` prints and `GET /v1/admin/doctor` returns.
//! Most checks are made by whoever starts the server, since this crate knows neither the
//! configuration file nor the sandbox; here is what they say, and where they are kept.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

/// Whether a part of an installation is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartState {
    /// It works.
    Ok,
    /// It works, or may be so on purpose; but something is not there.
    Note,
    /// It does not work.
    Missing,
}

/// What was found about one part of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// Which part.
    pub part: Cow<'static, str>,
    /// Whether it is as it should be.
    pub state: PartState,
    /// What was found. It may contain paths, so it is for the operator only.
    pub detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl PartReport {
    /// A part that works.
    pub fn ok(part: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        PartReport {
            part: part.into(),
            state: PartState::Ok,
            detail: detail.into(),
            advice: None,
        }
    }

    /// A part that may be so on purpose.
    pub fn note(
        part: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        PartReport {
            part: part.into(),
            state: PartState::Note,
            detail: detail.into(),
            advice: Some(advice.into()),
        }
    }

    /// A part that does not work.
    pub fn missing(
        part: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        PartReport {
            state: PartState::Missing,
            ..PartReport::note(part, detail, advice)
        }
    }
}

/// The reports of checks, once they are made.
pub type ChecksFuture<'a> = Pin<Box<dyn Future<Output = Vec<PartReport>> + Send + 'a>>;

/// Makes the checks that this crate cannot make. They change nothing and call no provider.
pub trait InstallationChecks: Send + Sync {
    /// Makes them now.
    fn check(&self) -> ChecksFuture<'_>;
}

/// The checks of a server, once they are set.
#[derive(Default)]
pub(crate) struct InstallationChecksSlot(OnceLock<Arc<dyn InstallationChecks>>);

impl InstallationChecksSlot {
    /// Sets them; only the first call has an effect.
    pub(crate) fn set(&self, checks: Arc<dyn InstallationChecks>) {
        // A second one is ignored.
        let _ = self.0.set(checks);
    }

    pub(crate) fn get(&self) -> Option<&dyn InstallationChecks> {
        self.0.get().map(|checks| &**checks)
    }
}
