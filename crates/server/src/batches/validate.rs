//! The requests in a file, as in OpenAI's API: one JSON object per line.

use bytes::BytesMut;
use futures_util::StreamExt;
use prowess_store::{BatchRecord, Error as StoreError, Result as StoreResult, Store};
use serde_json::{Value, json};

use super::item::{ItemProblem, parse_line};
use super::item_writer::{ItemWriter, WriteStop};
use super::openai::endpoint;
use super::settings::BatchSettings;

/// Some editors write it before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Errors of a file that are reported; the rest of the file is then not read.
const MAX_ERRORS: usize = 20;

/// Reads the requests of a validating batch, and lets it run or fail.
pub(super) async fn validate(
    store: &Store,
    settings: &BatchSettings,
    max_request_bytes: usize,
    batch: &BatchRecord,
) -> StoreResult<()> {
    let Some(attempt) = store.begin_batch_validation(&batch.id).await? else {
        return Ok(());
    };
    let mut intake = LineIntake {
        writer: ItemWriter::new(store, batch, attempt, settings.tenant_limits()),
        endpoint: endpoint(&batch.dialect),
        max_requests: settings.max_requests,
        max_bytes: max_request_bytes,
        line: 0,
        requests: 0,
        errors: Vec::new(),
        is_full: false,
        is_lost: false,
    };
    match intake.read(store, batch).await {
        // Trying again would read the file again and again, for as long as there is no room.
        Err(error @ StoreError::QuotaExceeded { .. }) => {
            intake.report("storage_quota_exceeded", None, "", &error.to_string());
        }
        read => read?,
    }
    if intake.is_lost {
        return Ok(());
    }
    if intake.errors.is_empty() && intake.requests == 0 {
        let message = "the file has no requests: it must have one JSON object per line";
        intake.report("empty_file", None, "input_file_id", message);
    }
    if intake.errors.is_empty() {
        store.start_batch(&batch.tenant, &batch.id, attempt).await?;
    } else {
        let errors = Value::Array(intake.errors).to_string();
        store.fail_batch(&batch.id, attempt, &errors).await?;
    }
    Ok(())
}

/// The lines of one file.
struct LineIntake<'a> {
    writer: ItemWriter<'a>,
    endpoint: &'static str,
    max_requests: u32,
    /// Of one line.
    max_bytes: usize,
    /// The current line, from 1.
    line: i64,
    requests: u32,
    errors: Vec<Value>,
    /// Whether there are more requests than allowed.
    is_full: bool,
    /// Whether the batch is no longer ours to read.
    is_lost: bool,
}

impl LineIntake<'_> {
    async fn read(&mut self, store: &Store, batch: &BatchRecord) -> StoreResult<()> {
        let file = batch.input_file.as_deref().unwrap_or_default();
        let mut content = match store.read_file(&batch.tenant, file).await {
            Ok((_, content)) => content,
            Err(error @ (StoreError::NotFound { .. } | StoreError::FileExpired { .. })) => {
                self.report("file_not_found", None, "input_file_id", &error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut rest = BytesMut::new();
        while let Some(chunk) = content.next().await {
            let chunk = chunk?;
            let mut parts = chunk.split(|byte| *byte == b'\n');
            // What follows the last line end is not complete.
            let last = parts.next_back().unwrap_or_default();
            for part in parts {
                rest.extend_from_slice(part);
                self.read_line(&rest).await?;
                rest.clear();
                if self.is_over() {
                    return Ok(());
                }
            }
            rest.extend_from_slice(last);
            if rest.len() > self.max_bytes {
                self.line += 1;
                self.report_problem(&ItemProblem::too_large(self.max_bytes));
                return Ok(());
            }
        }
        self.read_line(&rest).await?;
        if !self.is_over() {
            let flushed = self.writer.flush().await?;
            self.note_stop(flushed);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_lost || self.is_full || self.errors.len() >= MAX_ERRORS
    }

    async fn read_line(&mut self, line: &[u8]) -> StoreResult<()> {
        self.line += 1;
        let mark = line.strip_prefix(BYTE_ORDER_MARK);
        let line = mark.filter(|_| self.line == 1).unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        if line.len() > self.max_bytes {
            self.report_problem(&ItemProblem::too_large(self.max_bytes));
            return Ok(());
        }
        if self.requests >= self.max_requests {
            let message = format!(
                "the file has more than {} requests; use several batches",
                self.max_requests
            );
            self.report(
                "too_many_requests",
                Some(self.line),
                "input_file_id",
                &message,
            );
            self.is_full = true;
            return Ok(());
        }
        match parse_line(self.line, line, self.endpoint) {
            Ok(item) => {
                self.requests += 1;
                let pushed = self.writer.push(item).await?;
                self.note_stop(pushed);
            }
            Err(problem) => self.report_problem(&problem),
        }
        Ok(())
    }

    fn note_stop(&mut self, written: Result<(), WriteStop>) {
        match written {
            Ok(()) => {}
            Err(WriteStop::Lost) => self.is_lost = true,
            Err(WriteStop::Duplicates(found)) => {
                for item in found {
                    let problem = ItemProblem::duplicate(&item.custom_id);
                    self.report(
                        problem.code,
                        Some(item.seq),
                        problem.field,
                        &problem.message,
                    );
                }
            }
        }
    }

    fn report_problem(&mut self, problem: &ItemProblem) {
        self.report(
            problem.code,
            Some(self.line),
            problem.field,
            &problem.message,
        );
    }

    fn report(&mut self, code: &str, line: Option<i64>, field: &str, message: &str) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        let name = if field.is_empty() {
            String::new()
        } else {
            format!("{field}: ")
        };
        self.errors.push(json!({
            "code": code,
            "line": line,
            "message": format!("{place}{name}{message}"),
            "param": Some(field).filter(|field| !field.is_empty()),
        }));
    }
}
