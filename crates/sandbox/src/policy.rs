//! The policy of a container: limits and network. Chosen by the caller and stored with
//! the container.

use crate::egress::DomainRule;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Limits of one execution and of the files it leaves. All are enforced from outside
/// the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimits {
    /// Wall-clock time; serialized in milliseconds, as `timeout_ms`.
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
    /// Memory in bytes, including files in `/tmp` and, until the command ends, files
    /// written to `/mnt/data`.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Processor time per second of wall-clock time, in thousandths of one core.
    pub cpu_millis: u64,
    /// Bytes in `/mnt/data`: of files, and of the targets of links.
    pub data_bytes: u64,
    /// Files and folders one execution may create in `/mnt/data`.
    pub data_files: u64,
    /// Files, folders and links in `/mnt/data`.
    #[serde(rename = "session_entries")]
    pub container_entries: u64,
    /// Bytes of `/tmp`, which is empty at every start.
    pub tmp_bytes: u64,
    /// Descriptors per process, 512 at most: see the launcher's `limits` module.
    pub open_files: u64,
    /// Bytes retained of each of stdout and stderr: one half from the beginning, one
    /// from the end.
    pub output_kept: u64,
    /// Bytes of stdout and stderr together after which the command is ended.
    pub output_flood: u64,
    /// Limits of generated files that are reported per execution.
    pub outputs: OutputLimits,
}

/// Limits of generated files that are reported.
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
    /// Minimum memory: a shell cannot start with less.
    pub const MIN_MEMORY_BYTES: u64 = 16 * MIB;
    /// Minimum processor time of the kernel: a hundredth of a core.
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
            container_entries: 50_000,
            tmp_bytes: 128 * MIB,
            open_files: 512,
            output_kept: 128 * KIB,
            output_flood: 32 * MIB,
            outputs: OutputLimits::default(),
        }
    }
}

/// Network access of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Loopback only.
    #[default]
    Off,
    /// Through the proxy, to these domains.
    Allow(Vec<DomainRule>),
}

/// Limits and network access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Limits.
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
