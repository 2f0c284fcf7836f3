//! What a sandbox may have: limits, mounts, network. Plain data, chosen by the caller
//! and stored with a session.

use crate::egress::DomainRule;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bounds on one execution and on what it leaves behind. Every one of them is
/// enforced from outside the command's reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimits {
    /// Wall-clock time; in milliseconds, as `timeout_ms`, where it is written down.
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
    /// Everything the command holds in memory, in bytes. That includes files in `/tmp`
    /// and, until the command ends, files written to `/mnt/data`.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Processor time per second of wall-clock time, in thousandths of one core.
    pub cpu_millis: u64,
    /// Bytes `/mnt/data` may hold: of files, and of what links say.
    pub data_bytes: u64,
    /// Files and folders one execution may make in `/mnt/data`.
    pub data_files: u64,
    /// Files, folders and links `/mnt/data` may hold.
    pub session_entries: u64,
    /// Bytes of `/tmp`, which is empty at every start.
    pub tmp_bytes: u64,
    /// Descriptors per process, 512 at most: the launcher says why.
    pub open_files: u64,
    /// Bytes kept of each of stdout and stderr: one half from the beginning, one from
    /// the end.
    pub output_kept: u64,
    /// Bytes of stdout and stderr together after which the command is ended.
    pub output_flood: u64,
    /// Generated files reported per execution, and bytes of one and of all of them.
    pub outputs: OutputLimits,
}

/// Bounds on what is reported as generated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputLimits {
    /// Files.
    pub count: usize,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub total_bytes: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            count: 100,
            file_bytes: 128 * MIB,
            total_bytes: 256 * MIB,
        }
    }
}

impl SandboxLimits {
    /// Less memory than this, and not even a shell can start.
    pub const MIN_MEMORY_BYTES: u64 = 16 * MIB;
    /// Less processor time than this the kernel does not grant: a hundredth of a core.
    pub const MIN_CPU_MILLIS: u64 = 10;
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            memory: 1024 * MIB,
            processes: 128,
            cpu_millis: 2000,
            data_bytes: 512 * MIB,
            data_files: 10_000,
            session_entries: 50_000,
            tmp_bytes: 128 * MIB,
            open_files: 512,
            output_kept: 128 * KIB,
            output_flood: 32 * MIB,
            outputs: OutputLimits::default(),
        }
    }
}

/// Where a command may connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Nowhere but to itself.
    #[default]
    Off,
    /// By the proxy, to these domains.
    Allow(Vec<DomainRule>),
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Bounds.
    pub limits: SandboxLimits,
    /// Network.
    pub network: Network,
}

/// Durations as whole milliseconds.
pub(crate) mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
