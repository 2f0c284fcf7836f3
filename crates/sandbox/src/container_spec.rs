//! What a container is created with, so that one that has expired can be created again.

use crate::packages::Layer;
use crate::policy::Policy;
use crate::skills::SkillFiles;
use serde::{Deserialize, Serialize};

/// The description of a new container.
#[derive(Debug, Clone, Default)]
pub struct ContainerSpec {
    /// Limits and network.
    pub policy: Policy,
    /// Skills, at `/skills/NAME`.
    pub skills: Vec<SkillFiles>,
    /// Packages, on the paths of Python and Node.
    pub layer: Option<Layer>,
}

impl From<Policy> for ContainerSpec {
    fn from(policy: Policy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }
}

/// What a container was set up with, besides its skills, packages and files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSetup {
    /// Limits and network.
    pub policy: Policy,
    /// Client files that were copied into it, as (id, path).
    pub uploads: Vec<(String, String)>,
}
