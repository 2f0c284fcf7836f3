//! Every bound on what a scan may cost.

/// Bounds for one scan. What lies beyond them is told in the report's coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanLimits {
    /// Bytes looked at in one file; the rest of a longer file is not scanned.
    pub file_bytes: usize,
    /// Bytes looked at in all files together.
    pub total_bytes: usize,
    /// Bytes handed to regular expressions in all. Bounds hostile input made of
    /// nothing but near misses, the way a deadline would, but deterministically.
    pub work_bytes: usize,
    /// Findings listed per rule and severity, so that a flood of harmless hits
    /// cannot push a severe one out.
    pub per_rule: usize,
    /// Findings listed in all; the most severe are kept.
    pub findings: usize,
    /// Characters of evidence in one finding.
    pub evidence_chars: usize,
}

impl Default for ScanLimits {
    fn default() -> Self {
        ScanLimits {
            file_bytes: 25_000_000,
            total_bytes: 30_000_000,
            work_bytes: 512 << 20,
            per_rule: 25,
            findings: 500,
            evidence_chars: 160,
        }
    }
}
