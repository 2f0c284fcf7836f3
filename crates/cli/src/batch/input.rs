//! The file of a batch: its lines, read one at a time and checked before anything is sent.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use prowess_skill::Digest;
use tempfile::NamedTempFile;

use super::line::{BatchLine, LineFormat};
use crate::{display_path, output};

/// Maximum bytes of one line.
const MAX_LINE_BYTES: u64 = 32 << 20;
/// Maximum bytes of standard input, which is stored until the batch has ended.
const MAX_STDIN_BYTES: u64 = 1 << 30;
/// Some editors write it before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// Errors of a file that are reported.
const MAX_ERRORS: usize = 20;

/// A file whose lines are all valid.
pub(super) struct BatchInput {
    path: PathBuf,
    /// As the user calls it.
    pub(super) name: String,
    pub(super) format: LineFormat,
    /// Lines that are not blank.
    pub(super) requests: u64,
    /// Changes with any line.
    pub(super) digest: String,
    /// The copy of standard input.
    _copy: Option<NamedTempFile>,
}

/// A line with its number in the file, from 1.
pub(super) struct NumberedLine {
    pub(super) number: u64,
    text: String,
}

/// The lines of a file that are not blank.
pub(super) struct InputLines {
    reader: BufReader<File>,
    number: u64,
}

impl BatchInput {
    /// Reads and checks a file, or standard input for `-`.
    pub(super) fn open(path: &Path) -> anyhow::Result<BatchInput> {
        let copy = match path == Path::new("-") {
            true => Some(copy_stdin().context("standard input cannot be read")?),
            false => None,
        };
        let name = match &copy {
            Some(_) => "standard input".to_owned(),
            None => display_path(path),
        };
        let path = copy.as_ref().map_or(path, |copy| copy.path()).to_owned();
        let unreadable = || format!("{name} cannot be read");
        let mut lines = InputLines::open(&path).with_context(unreadable)?;
        let mut scan = InputScan::new(&path);
        for line in &mut lines {
            scan.add(&line.with_context(unreadable)?);
            if scan.errors.len() >= MAX_ERRORS {
                break;
            }
        }
        if !scan.errors.is_empty() {
            for (number, error) in &scan.errors {
                output::print_error(&format!("{name}:{number}: {error}"));
            }
            anyhow::bail!("nothing was submitted: correct {name} first");
        }
        let Some(format) = scan.format else {
            anyhow::bail!("{name} has no prompts: write one per line");
        };
        Ok(BatchInput {
            path: path.clone(),
            name,
            format,
            requests: scan.requests,
            digest: scan.digest.to_string(),
            _copy: copy,
        })
    }

    /// Its lines, from the start.
    pub(super) fn lines(&self) -> io::Result<InputLines> {
        InputLines::open(&self.path)
    }

    /// A line in its format.
    pub(super) fn parse(&self, line: &NumberedLine) -> io::Result<BatchLine> {
        parse(&self.format, line)
    }
}

/// A line in the format of its file.
pub(super) fn parse(format: &LineFormat, line: &NumberedLine) -> io::Result<BatchLine> {
    let parsed = format.parse(&line.text);
    // It was valid when the file was checked.
    parsed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl InputLines {
    fn open(path: &Path) -> io::Result<InputLines> {
        Ok(InputLines {
            reader: BufReader::new(File::open(path)?),
            number: 0,
        })
    }

    fn read_line(&mut self) -> io::Result<Option<NumberedLine>> {
        loop {
            self.number += 1;
            let mut bytes = Vec::new();
            let mut limited = (&mut self.reader).take(MAX_LINE_BYTES + 1);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            let number = self.number;
            if bytes.len() as u64 > MAX_LINE_BYTES {
                let limit = output::format_size(MAX_LINE_BYTES);
                return Err(io::Error::other(format!(
                    "line {number} is longer than {limit}"
                )));
            }
            let text = String::from_utf8(bytes)
                .map_err(|_| io::Error::other(format!("line {number} is not UTF-8")))?;
            let mut text = text.trim_end_matches(['\n', '\r']);
            if number == 1 {
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            }
            if !text.trim().is_empty() {
                let text = text.to_owned();
                return Ok(Some(NumberedLine { number, text }));
            }
        }
    }
}

impl Iterator for InputLines {
    type Item = io::Result<NumberedLine>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_line().transpose()
    }
}

/// What is known of a file so far.
struct InputScan<'a> {
    path: &'a Path,
    format: Option<LineFormat>,
    requests: u64,
    digest: Digest,
    errors: Vec<(u64, String)>,
}

impl<'a> InputScan<'a> {
    fn new(path: &'a Path) -> InputScan<'a> {
        InputScan {
            path,
            format: None,
            requests: 0,
            digest: Digest::from_content(b""),
            errors: Vec::new(),
        }
    }

    fn add(&mut self, line: &NumberedLine) {
        self.requests += 1;
        // A chain of digests, so that lines are not kept. The number is part of the result.
        let mut link = self.digest.as_bytes().to_vec();
        link.extend_from_slice(&line.number.to_le_bytes());
        link.extend_from_slice(line.text.as_bytes());
        self.digest = Digest::from_content(&link);
        let path = self.path;
        let found = match &self.format {
            Some(format) => format.parse(&line.text).map(drop),
            None => LineFormat::detect(path, &line.text).and_then(|format| {
                format.parse(&line.text)?;
                self.format = Some(format);
                Ok(())
            }),
        };
        if let Err(error) = found {
            self.errors.push((line.number, error));
        }
    }
}

fn copy_stdin() -> anyhow::Result<NamedTempFile> {
    let mut copy = NamedTempFile::new()?;
    let mut input = io::stdin().lock().take(MAX_STDIN_BYTES + 1);
    let copied = io::copy(&mut input, &mut copy)?;
    if copied > MAX_STDIN_BYTES {
        anyhow::bail!("it is longer than {}", output::format_size(MAX_STDIN_BYTES));
    }
    copy.flush()?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::line::BatchLine;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a.txt", "\u{feff}Hello\r\n"),
            ("a.jsonl", "\u{feff}{\"prompt\": \"Hello\"}\r\n"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let input = BatchInput::open(&path).unwrap();
            let line = input.lines().unwrap().next().unwrap().unwrap();
            let hello = BatchLine::Prompt {
                prompt: "Hello".to_owned(),
                id: None,
            };
            assert_eq!(input.parse(&line).unwrap(), hello, "{name}");
        }
    }
}
