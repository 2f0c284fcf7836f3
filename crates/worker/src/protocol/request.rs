//! What gateways request of a worker.

use super::encoded_bytes::EncodedBytes;
use prowess_sandbox::{Command, DomainRule, Policy, Requirements};
use prowess_skill::Digest;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;

/// A request of a gateway. All but [`Keep`](Self::Keep), [`Kill`](Self::Kill) and
/// [`Forget`](Self::Forget) have a reply subject.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerRequest {
    /// Run a command, or attach to the one of the same id. Answered by `Accepted`, if it
    /// takes longer than a moment, and others.
    Exec(Box<ExecRequest>),
    /// Install packages. Answered by `LayerReady` or `Failed`, with beats until then.
    Layer(Box<LayerRequest>),
    /// These commands still have a gateway that waits for them.
    Keep {
        /// Ids of commands.
        commands: Vec<String>,
    },
    /// End a command and discard its result, also if it has ended.
    Kill {
        /// The id of the command.
        command: String,
        /// The reply subject of the gateway that does not wait any more. If another one has
        /// attached to the command since, the command is left to that one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        listener: Option<String>,
        /// The epoch of that gateway, as [`ExecRequest::epoch`].
        #[serde(default)]
        epoch: i64,
    },
    /// These containers do not exist any more: remove the copies of them.
    Forget {
        /// Ids of containers.
        containers: Vec<String>,
    },
    /// Answered by `Described`.
    Describe,
}

/// A command, and everything that it needs by digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecRequest {
    /// The id of the command. The same id again attaches to the command, or gets its result,
    /// if container and `files_digest` are the same.
    pub command: String,
    /// The container's id.
    pub container: String,
    /// Who owns the container: a tenant.
    pub owner: String,
    /// Limits and network access. Fields that this build does not know are ignored.
    #[serde(default, deserialize_with = "known_fields")]
    pub policy: Policy,
    /// Skills, each with its files.
    #[serde(default)]
    pub skills: Vec<MountedSkill>,
    /// Packages to install.
    #[serde(default)]
    pub requirements: Option<Requirements>,
    /// The digest of the container's files before the command (`Snapshot::digest`).
    pub files_digest: Digest,
    /// What to run.
    pub execution: CommandRequest,
    /// Only attach, or get a kept result; never begin the command. A worker that does not
    /// know it answers `Failed` with the code `unknown-command`.
    #[serde(default)]
    pub attach_only: bool,
    /// Whether other workers may have room: one at which the tenant has none of its places left
    /// answers `Busy`, instead of having the command wait for one. Earlier releases let it wait.
    #[serde(default)]
    pub passes_on: bool,
    /// The epoch of the lease of the run that the command belongs to: of two gateways, the one
    /// with the greater epoch has the run. The other one gets `Failed` with the code `run-lost`
    /// as soon as the worker knows of both. 0 if the run has no lease, and of earlier releases:
    /// then the gateway that came last has the run.
    #[serde(default)]
    pub epoch: i64,
    /// The run that the command belongs to, for logs.
    #[serde(default)]
    pub run: Option<String>,
    /// The W3C trace context of the call.
    #[serde(default)]
    pub traceparent: Option<String>,
}

/// A skill of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedSkill {
    /// Its folder below `/skills`.
    pub folder: String,
    /// The digest of its manifest, which its files have to give.
    pub digest: Digest,
    /// Its files, by path.
    pub files: Vec<MountedSkillFile>,
}

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedSkillFile {
    /// Path within the skill.
    pub path: String,
    /// Of its content.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
    /// Whether it may be executed.
    #[serde(default)]
    pub executable: bool,
}

impl MountedSkill {
    /// What names this skill in beats.
    #[must_use]
    pub fn key(&self) -> String {
        short_key(&self.digest)
    }
}

/// What names requirements in beats.
#[must_use]
pub fn requirements_key(requirements: &Requirements) -> String {
    // They have a JSON form; without one, the key would only not be found.
    let text = serde_json::to_vec(requirements).unwrap_or_default();
    short_key(&Digest::from_content(&text))
}

/// Enough of a digest to tell what a worker has; a coincidence costs a moment only.
fn short_key(digest: &Digest) -> String {
    digest.hex().chars().take(16).collect()
}

/// The parts of an `Execution` that travel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CommandRequest {
    /// What to run.
    pub command: Command,
    /// Its standard input.
    #[serde(default)]
    pub stdin: EncodedBytes,
    /// Variables in addition to the default ones.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Secrets for the worker's egress proxy. Never logged or stored.
    #[serde(default)]
    pub secrets: Vec<CommandSecret>,
    /// A shorter timeout than the policy's, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Whether output is sent while the command runs.
    #[serde(default)]
    pub stream: bool,
}

/// A secret of a command (`EgressSecret`).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSecret {
    /// Its stand-in inside the sandbox.
    pub stand_in: String,
    /// The value, which never enters the sandbox.
    pub value: String,
    /// Where it may be sent.
    pub domain: DomainRule,
}

impl fmt::Debug for CommandSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSecret")
            .field("stand_in", &self.stand_in)
            .finish_non_exhaustive()
    }
}

/// Packages to install before a command needs them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LayerRequest {
    /// The id of this request, as a command's: for [`WorkerRequest::Keep`] and
    /// [`WorkerRequest::Kill`].
    pub command: String,
    /// Who needs them: a tenant.
    pub owner: String,
    /// The packages.
    pub requirements: Requirements,
}

/// Reads a policy of another release. As part of a configuration an unknown field is a mistake;
/// here it is a limit that this build does not have.
fn known_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    let mut given = Value::deserialize(deserializer)?;
    let known = serde_json::to_value(Policy::default()).map_err(serde::de::Error::custom)?;
    if let Value::Object(fields) = &mut given {
        fields.retain(|name, _| known.get(name).is_some());
    }
    retain_known(&mut given, &known, "limits");
    if let (Some(given), Some(known)) = (given.get_mut("limits"), known.get("limits")) {
        retain_known(given, known, "outputs");
    }
    serde_json::from_value(given).map_err(serde::de::Error::custom)
}

/// Drops fields of one object inside `given` that the same object of `known` lacks.
fn retain_known(given: &mut Value, known: &Value, name: &str) {
    if let (Some(Value::Object(fields)), Some(known)) = (given.get_mut(name), known.get(name)) {
        fields.retain(|field, _| known.get(field).is_some());
    }
}
