//! Why there are no credentials: which sources were asked, and what each said.

use std::fmt;
use std::time::Duration;

/// After a failure, requests get the same error for this long instead of a fetch each.
pub(crate) const SAME_ERROR_FOR: Duration = Duration::from_secs(1);

/// What one source said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReport {
    /// The source, for people.
    pub source: String,
    /// Why it has no credentials.
    pub reason: String,
}

impl SourceReport {
    pub(crate) fn new(source: impl Into<String>, reason: impl Into<String>) -> Self {
        SourceReport {
            source: source.into(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for SourceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.reason)
    }
}

/// Why there are no credentials. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// No source has any.
    #[error("found no {cloud} credentials ({}); {remedy}", list(.tried))]
    NoneFound {
        /// The cloud.
        cloud: &'static str,
        /// The sources, in the order in which they were asked.
        tried: Vec<SourceReport>,
        /// What to do.
        remedy: &'static str,
    },
    /// A source is set up, but gave none.
    #[error("{report}{}", hint(.remedy))]
    Refused {
        /// The source and what it said.
        report: SourceReport,
        /// What to do, if there is more to say than the report does.
        remedy: &'static str,
        /// Whether it may work soon without a change.
        transient: bool,
    },
    /// A source could not be reached, or did not answer in time.
    #[error("{0}")]
    Unanswered(SourceReport),
    /// A source gave credentials that are not valid any more.
    #[error("the credentials received have expired already; check the clock of this machine")]
    Expired,
    /// It took too long.
    #[error("no credentials within {} s; check the network, or configure keys", .0.as_secs())]
    TooSlow(Duration),
}

impl CloudError {
    pub(crate) fn refused(source: impl Into<String>, reason: impl Into<String>) -> Self {
        CloudError::Refused {
            report: SourceReport::new(source, reason),
            remedy: "",
            transient: false,
        }
    }

    pub(crate) fn with_remedy(self, remedy: &'static str) -> Self {
        match self {
            CloudError::Refused {
                report, transient, ..
            } => CloudError::Refused {
                report,
                remedy,
                transient,
            },
            other => other,
        }
    }

    /// Whether it may work soon without a change.
    pub fn is_transient(&self) -> bool {
        match self {
            CloudError::Refused { transient, .. } => *transient,
            CloudError::Unanswered(_) | CloudError::TooSlow(_) => true,
            CloudError::NoneFound { .. } | CloudError::Expired => false,
        }
    }

    /// When it may work without a change; `None` if it will not.
    pub fn retry_after(&self) -> Option<Duration> {
        self.is_transient().then_some(SAME_ERROR_FOR)
    }
}

fn list(tried: &[SourceReport]) -> String {
    let all: Vec<String> = tried.iter().map(ToString::to_string).collect();
    all.join("; ")
}

fn hint(remedy: &str) -> String {
    match remedy {
        "" => String::new(),
        remedy => format!("; {remedy}"),
    }
}
