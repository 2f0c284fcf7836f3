//! What is printed while a batch runs: a progress bar on a terminal, lines otherwise, or JSON.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prowess_client::RemoteBatch;
use serde_json::{Value, json};

use crate::output::{self, DIM, ERROR, GOOD, strip_controls};

/// How often progress is printed where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// How often progress is printed as JSON.
const JSON_INTERVAL: Duration = Duration::from_secs(1);
/// Failed lines that are printed one by one.
const MAX_FAILURES: u64 = 20;

/// Prints the progress of a batch.
pub(super) struct BatchReport {
    kind: ReportKind,
    printed_at: Option<Instant>,
    failures: u64,
}

enum ReportKind {
    Json,
    Lines,
    Bar(ProgressBar),
}

/// What became of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BatchTotals {
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

impl BatchReport {
    pub(super) fn new(json: bool, requests: u64) -> BatchReport {
        let kind = if json {
            ReportKind::Json
        } else if std::io::stderr().is_terminal() {
            ReportKind::Bar(progress_bar(requests))
        } else {
            ReportKind::Lines
        };
        BatchReport {
            kind,
            printed_at: None,
            failures: 0,
        }
    }

    /// Whether everything is printed as JSON.
    pub(super) fn is_json(&self) -> bool {
        matches!(self.kind, ReportKind::Json)
    }

    pub(super) fn on_submitted(
        &mut self,
        batch: &RemoteBatch,
        requests: u64,
        is_resumed: bool,
    ) -> anyhow::Result<()> {
        if self.is_json() {
            let kind = if is_resumed { "resumed" } else { "submitted" };
            return write_line(&json!({"type": kind, "batch": batch.id, "requests": requests}));
        }
        let what = if is_resumed {
            "continuing"
        } else {
            "submitted"
        };
        let requests = output::format_count(usize::try_from(requests).unwrap_or(0), "request");
        self.print(&format!("{DIM}{what} {}: {requests}{DIM:#}", batch.id));
        Ok(())
    }

    pub(super) fn on_progress(&mut self, batch: &RemoteBatch) -> anyhow::Result<()> {
        let done = batch.succeeded + batch.failed;
        if let ReportKind::Bar(bar) = &self.kind {
            bar.set_position(done);
            let failed = match batch.failed {
                0 => String::new(),
                failed => format!("{failed} failed"),
            };
            bar.set_message(failed);
            return Ok(());
        }
        let interval = match self.is_json() {
            true => JSON_INTERVAL,
            false => LINE_INTERVAL,
        };
        // The first time is when the batch was submitted.
        let printed_at = *self.printed_at.get_or_insert_with(Instant::now);
        if printed_at.elapsed() < interval {
            return Ok(());
        }
        self.printed_at = Some(Instant::now());
        if self.is_json() {
            return write_line(&json!({
                "type": "progress",
                "status": batch.status,
                "requests": batch.requests,
                "succeeded": batch.succeeded,
                "failed": batch.failed,
            }));
        }
        let (requests, failed) = (batch.requests, batch.failed);
        self.print(&format!("{done} of {requests} done, {failed} failed"));
        for error in &batch.errors {
            self.print(&strip_controls(error, true));
        }
        Ok(())
    }

    /// The server cannot be reached for now.
    pub(super) fn on_lost_connection(&self) {
        self.print(&format!("{DIM}connection lost, reconnecting{DIM:#}"));
    }

    /// A result, where results are not written to a file: a line of JSON, ours or a vendor's.
    pub(super) fn on_result(&self, line: &str, is_vendors: bool) -> anyhow::Result<()> {
        let line = match (self.is_json(), line.strip_prefix('{')) {
            (true, _) if is_vendors => format!("{{\"type\":\"result\",\"result\":{line}}}\n"),
            (true, Some(fields)) => format!("{{\"type\":\"result\",{fields}\n"),
            _ => format!("{line}\n"),
        };
        output::print_json_lines(&line)
    }

    /// A request that failed.
    pub(super) fn on_failure(&mut self, place: &str, message: &str) {
        self.failures += 1;
        if !self.is_json() && self.failures <= MAX_FAILURES {
            let message = strip_controls(message, true);
            self.print(&format!("{ERROR}error{ERROR:#}: {place}: {message}"));
        }
    }

    /// A file that was saved.
    pub(super) fn on_saved(&self, path: &str) {
        if matches!(self.kind, ReportKind::Bar(_)) {
            self.print(&format!("{GOOD}saved{GOOD:#} {path}"));
        }
    }

    pub(super) fn on_ended(
        &self,
        batch: &RemoteBatch,
        totals: &BatchTotals,
        written_to: Option<&str>,
    ) -> anyhow::Result<()> {
        let BatchTotals {
            succeeded,
            failed,
            input_tokens,
            output_tokens,
        } = totals;
        if self.is_json() {
            return write_line(&json!({
                "type": "ended",
                "batch": batch.id,
                "status": batch.status,
                "succeeded": succeeded,
                "failed": failed,
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "output": written_to,
            }));
        }
        if let ReportKind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
        if self.failures > MAX_FAILURES {
            let more = self.failures - MAX_FAILURES;
            output::print_remark(&format!("… and {more} more errors, in the results"));
        }
        let place = written_to.map_or(String::new(), |path| format!(", results in {path}"));
        output::print_remark(&format!(
            "{succeeded} succeeded, {failed} failed, {input_tokens}+{output_tokens} tokens{place}"
        ));
        Ok(())
    }

    /// A remark for people.
    pub(super) fn print(&self, text: &str) {
        match &self.kind {
            ReportKind::Json => {}
            ReportKind::Lines => output::print_remark(text),
            ReportKind::Bar(bar) => bar.suspend(|| output::print_remark(text)),
        }
    }
}

fn progress_bar(requests: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(requests), target);
    match ProgressStyle::with_template("[{bar:30}] {pos}/{len} {eta} {msg}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn write_line(value: &Value) -> anyhow::Result<()> {
    output::print_json_lines(&format!("{value}\n"))
}
