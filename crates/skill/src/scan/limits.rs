//! Every bound on what a scan may cost.

/// Limits of one scan. What exceeds them is reported in the coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanLimits {
    /// Bytes scanned of one file; the rest of a longer file is skipped.
    pub file_bytes: usize,
    /// Bytes scanned of all files together.
    pub total_bytes: usize,
    /// Bytes handed to regular expressions in total. Bounds hostile input made of
    /// nothing but near misses, the way a deadline would, but deterministically.
    pub work_bytes: usize,
    /// Findings listed per rule and severity, so that a flood of harmless hits
    /// cannot push a severe one out.
    pub per_rule: usize,
    /// Findings listed in total; the most severe are kept.
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
