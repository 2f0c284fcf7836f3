//! What is stored of a finished step: enough to continue the run as if the step had just
//! finished. The form has a version, `FORMAT`:
//!
//! | version | form |
//! |---|---|
//! | 1 | what is fixed before the first turn is always a step of its own |
//! | 2 | it is part of the first turn, unless the run begins with calls |
//! | 3 | the event log has what happens besides the response |

use prowess_provider::config::Price;
use prowess_sandbox::ContainerSetup;
use prowess_store::{Error as StoreError, JournalStep};
use prowess_wire::neutral::Response;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::intake::resolve::SkillPin;
use crate::intake::routing::SkillOffer;
use crate::turns::dispatch::FinishedCall;

/// The version of the form in which steps are stored. A server claims only runs of a version
/// that it knows.
pub const FORMAT: i64 = 3;

/// What is fixed before the first turn. A step of its own, or a part of the first turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StartRecord {
    /// The container that the request continues in.
    pub(crate) container: Option<String>,
    /// The upstream's own container.
    pub(crate) upstream_container: Option<String>,
    /// The versions of the skills.
    pub(crate) pins: Vec<SkillPin>,
    /// The skills that `auto` offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) offer: Option<SkillOffer>,
    /// The upstream's own skills.
    pub(crate) native_skills: Vec<Value>,
    /// What the container was set up with, if it existed.
    #[serde(default)]
    pub(crate) setup: Option<ContainerSetup>,
    /// How long the run had been going on when this was stored.
    #[serde(default)]
    pub(crate) elapsed_ms: u64,
}

/// A turn of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TurnRecord {
    /// In the first turn: what was fixed before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<StartRecord>,
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) price: Option<Price>,
    /// With the ids that the calls have in this run.
    pub(crate) response: Response,
}

/// A container that is opened before the first command runs in it, where commands go on without
/// their server: the next server finds them by the container. It is a step like [`StartRecord`],
/// which servers that do not know it skip.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenedContainer {
    pub(crate) container: Option<String>,
    /// What it was set up with.
    #[serde(default)]
    pub(crate) setup: Option<ContainerSetup>,
    /// Set if a call had begun that replaced its container: the step that the ids of its commands
    /// have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls_step: Option<i64>,
}

/// The calls of one turn and their results. They are one step, because they may run in one
/// container at the same time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResultsRecord {
    /// The container after the calls.
    pub(crate) container: Option<String>,
    /// What it was set up with.
    #[serde(default)]
    pub(crate) setup: Option<ContainerSetup>,
    pub(crate) calls: Vec<FinishedCall>,
}

/// Reads what is stored of a step.
pub(crate) fn parse_step<T: DeserializeOwned>(step: &JournalStep) -> Result<T, StoreError> {
    serde_json::from_str(&step.body).map_err(|error| StoreError::MalformedRow {
        table: "journal_steps",
        reason: error.to_string(),
    })
}
