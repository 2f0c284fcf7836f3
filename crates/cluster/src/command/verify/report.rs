//! What a worker says of a command besides its files: how it ended, its texts and its lists.
//! What no command can have is refused; what only describes is brought within limits, because
//! it is counted, stored and shown. It knows neither contents nor messages.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use prowess_sandbox::{CommandOutcome, ExecutionReport, Grade, SandboxLimits};

use crate::file_set::FileSet;

/// Bytes of text in a report per byte that is retained of output: others are replaced by up to
/// three.
const TEXT_FACTOR: u64 = 4;
/// Bytes of such a text that say how much was left out.
const TEXT_SLACK_BYTES: u64 = 4 << 10;

/// How long a command may take besides running: until it has started, and until it was killed.
const AROUND_RUNNING: Duration = Duration::from_secs(120);

/// How commands end. A container engine may have no exit code.
const EXIT_CODES: RangeInclusive<i32> = -1..=255;
const SIGNALS: RangeInclusive<i32> = 0..=127;

/// Bytes that a command can have written to one of its streams: far more than any does, and so few
/// that they can be added.
const MAX_WRITTEN_BYTES: u64 = 1 << 50;

/// Entries of each list that is not of files.
const MAX_LISTED: usize = 1_000;
/// Bytes of a path that was skipped: of the deepest one, with replacements.
const MAX_PATH_BYTES: usize = 32 << 10;
/// Bytes of other texts.
const MAX_TEXT_BYTES: usize = 2 << 10;
/// Bytes of a media type.
const MAX_TYPE_BYTES: usize = 127;

/// The media type of what has none.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Refuses what no command can have.
pub(super) fn check(report: &ExecutionReport, limits: &SandboxLimits) -> Result<(), String> {
    let max = limits.output_kept.saturating_mul(TEXT_FACTOR) + TEXT_SLACK_BYTES;
    for text in [&report.stdout.text, &report.stderr.text] {
        if text.len() as u64 > max {
            return Err(format!("it has {} bytes of output", text.len()));
        }
    }
    if report.outputs.len() > limits.outputs.count {
        return Err(format!("it has {} outputs", report.outputs.len()));
    }
    match report.outcome {
        CommandOutcome::Exit(code) if !EXIT_CODES.contains(&code) => {
            Err(format!("its exit code is {code}"))
        }
        CommandOutcome::Signal(signal) if !SIGNALS.contains(&signal) => {
            Err(format!("it was ended by signal {signal}"))
        }
        _ => Ok(()),
    }
}

/// Leaves out what is too much or wrong. `files` are those after the command.
pub(super) fn bring_within_limits(
    report: &mut ExecutionReport,
    files: &FileSet,
    limits: &SandboxLimits,
) {
    report.elapsed = report
        .elapsed
        .min(limits.timeout.saturating_add(AROUND_RUNNING));
    for output in [&mut report.stdout, &mut report.stderr] {
        output.bytes = output.bytes.min(MAX_WRITTEN_BYTES);
        output.cut = output.cut.min(output.bytes);
    }
    report.hits.truncate(MAX_LISTED);
    report
        .skipped
        .retain(|skipped| skipped.path.len() <= MAX_PATH_BYTES);
    report.skipped.truncate(MAX_LISTED);
    report.connections.retain(|connection| {
        let reason = connection.reason.as_deref().unwrap_or_default();
        is_line(&connection.host) && is_line(reason)
    });
    report.connections.truncate(MAX_LISTED);
    if let Grade::Reduced { missing } = &mut report.level {
        missing.retain(|layer| is_line(layer));
        missing.truncate(MAX_LISTED);
    }
    correct_outputs(report, files, limits);
}

/// An output is a file, once, within the limits of outputs.
fn correct_outputs(report: &mut ExecutionReport, files: &FileSet, limits: &SandboxLimits) {
    let (mut seen, mut left) = (HashSet::new(), limits.outputs.total_bytes);
    report.outputs.retain_mut(|output| {
        // A path that the files do not have leads nowhere.
        let known = files.file(&output.path);
        let is_known =
            known.is_ok_and(|(digest, size)| size == output.size && digest.hex() == output.sha256);
        let is_listed = is_known && output.size <= limits.outputs.file_bytes;
        let (true, Some(rest)) = (is_listed, left.checked_sub(output.size)) else {
            return false;
        };
        if !seen.insert(output.path.clone()) {
            return false;
        }
        left = rest;
        if !is_media_type(&output.mime_type) {
            output.mime_type = UNKNOWN_TYPE.to_owned();
        }
        true
    });
}

fn is_line(text: &str) -> bool {
    text.len() <= MAX_TEXT_BYTES && !text.chars().any(char::is_control)
}

/// Whether this is a media type without parameters.
fn is_media_type(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(is_fine);
    let names = text.split_once('/');
    text.len() <= MAX_TYPE_BYTES && names.is_some_and(|(kind, name)| is_name(kind) && is_name(name))
}
