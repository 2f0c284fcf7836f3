//! Writes the results of a batch, in the order of its file.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use prowess_client::{Client, RemoteBatch};
use tempfile::NamedTempFile;

use super::file_result::FileResult;
use super::follow::retry;
use super::input::{BatchInput, NumberedLine};
use super::line::{BatchLine, LineFormat};
use super::prompt_result::{MessageOutcome, MessageResult};
use super::report::{BatchReport, BatchTotals};
use super::requests::prompt_name;
use super::result_source::ResultSource;
use super::saved_files::save_files;
use crate::display_path;
use crate::runs::reconnect::is_transient;

/// The results of a batch on their way to a file or to standard output.
pub(super) struct ResultWriter<'a> {
    pub(super) client: &'a Client,
    pub(super) input: &'a BatchInput,
    /// Where to save files that were created; none are saved without it.
    pub(super) files: Option<&'a Path>,
}

/// Where results go.
enum ResultSink {
    /// A new file, which gets its name when it is complete.
    File {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
    Stdout,
}

impl ResultWriter<'_> {
    /// Writes the results of a batch that has ended.
    pub(super) async fn write(
        &self,
        batch: &RemoteBatch,
        output: Option<&Path>,
        report: &mut BatchReport,
    ) -> anyhow::Result<BatchTotals> {
        let mut sink = ResultSink::open(output)?;
        let mut totals = BatchTotals::default();
        let mut lines = self.input.lines()?;
        let mut written = 0;
        let mut source = self.open(batch, written, report).await?;
        loop {
            let result = match source.next().await {
                Err(error) if is_transient(&error) => {
                    source = self.open(batch, written, report).await?;
                    continue;
                }
                other => other?,
            };
            let (line, result) = match (lines.next().transpose()?, result) {
                (Some(line), Some(result)) => (line, result),
                (None, None) => break,
                _ => return Err(self.mismatch(batch)),
            };
            let Some(text) = self.render(&line, result, &mut totals, report).await? else {
                return Err(self.mismatch(batch));
            };
            match &mut sink {
                ResultSink::File { file, .. } => writeln!(file, "{text}")?,
                ResultSink::Stdout => {
                    report.on_result(&text, !self.input.format.has_prompts())?;
                }
            }
            written += 1;
        }
        sink.finish()?;
        Ok(totals)
    }

    async fn open(
        &self,
        batch: &RemoteBatch,
        written: u64,
        report: &mut BatchReport,
    ) -> anyhow::Result<ResultSource> {
        let format = &self.input.format;
        retry(report, async || {
            ResultSource::open(self.client, batch, format, written).await
        })
        .await
    }

    /// The text of a result, and what it adds to the totals. None if it is not the result of
    /// this line.
    async fn render(
        &self,
        line: &NumberedLine,
        result: Vec<u8>,
        totals: &mut BatchTotals,
        report: &mut BatchReport,
    ) -> anyhow::Result<Option<String>> {
        let place = format!("{}:{}", self.input.name, line.number);
        if let LineFormat::File { .. } = self.input.format {
            let Some(parsed) = FileResult::parse(&result) else {
                return Ok(None);
            };
            totals.add(
                (parsed.input_tokens, parsed.output_tokens),
                parsed.failure.is_none(),
            );
            if let Some(message) = &parsed.failure {
                report.on_failure(&place, message);
            }
            return Ok(String::from_utf8(result).ok());
        }
        let Some(parsed) = MessageResult::parse(&result) else {
            return Ok(None);
        };
        let failure = match &parsed.outcome {
            MessageOutcome::Succeeded(_) => None,
            MessageOutcome::Failed { message, .. } => Some(message.as_str()),
        };
        totals.add(parsed.tokens(), failure.is_none());
        if let Some(message) = failure {
            report.on_failure(&place, message);
        }
        let mut files = parsed.file_ids();
        if let Some(folder) = self.files.filter(|_| !files.is_empty()) {
            files = save_files(self.client, &files, folder, line.number, report).await?;
        }
        match self.input.parse(line)? {
            BatchLine::Prompt { id, .. } if parsed.name == prompt_name(line.number) => {
                Ok(Some(parsed.to_json(line.number, id, &files).to_string()))
            }
            BatchLine::Prompt { .. } => Ok(None),
            BatchLine::Request { .. } => Ok(String::from_utf8(result).ok()),
        }
    }

    fn mismatch(&self, batch: &RemoteBatch) -> anyhow::Error {
        let (id, input) = (&batch.id, &self.input.name);
        anyhow::anyhow!("the results of {id} are not those of {input}")
    }
}

impl BatchTotals {
    fn add(&mut self, (input, output): (u64, u64), has_succeeded: bool) {
        match has_succeeded {
            true => self.succeeded += 1,
            false => self.failed += 1,
        }
        self.input_tokens += input;
        self.output_tokens += output;
    }
}

impl ResultSink {
    fn open(output: Option<&Path>) -> anyhow::Result<ResultSink> {
        let Some(path) = output else {
            return Ok(ResultSink::Stdout);
        };
        let folder = path.parent().filter(|path| *path != Path::new(""));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".prowess-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
        let file = file.with_context(|| format!("{} cannot be written", display_path(path)))?;
        Ok(ResultSink::File {
            file: BufWriter::new(file),
            path: path.to_owned(),
        })
    }

    fn finish(self) -> anyhow::Result<()> {
        let ResultSink::File { file, path } = self else {
            return Ok(());
        };
        let unwritable = || format!("{} cannot be written", display_path(&path));
        let file = file.into_inner().map_err(|error| error.into_error());
        let file = file.with_context(unwritable)?;
        file.as_file().sync_all().with_context(unwritable)?;
        let persisted = file.persist(&path).map_err(|failed| failed.error);
        persisted.map(drop).with_context(unwritable)
    }
}
