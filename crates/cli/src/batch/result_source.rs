//! The results of a batch, in the order of its requests.
//!
//! Anthropic's API has them in that order. In OpenAI's, responses and errors are two files;
//! each is in that order, and the id of a line ends with the number of its request.

use prowess_client::{Client, Error, RemoteBatch, RemoteLines};
use serde::Deserialize;

use super::line::LineFormat;

/// Results, over one or two connections.
pub(super) enum ResultSource {
    Messages(RemoteLines),
    Files(Box<[FileResults; 2]>),
}

/// The results in one file.
pub(super) struct FileResults {
    lines: Option<RemoteLines>,
    /// The next line, with the number of its request.
    next: Option<(u64, Vec<u8>)>,
}

#[derive(Deserialize)]
struct LineId {
    id: String,
}

impl ResultSource {
    /// The results of a batch that has ended, after the first `skipped` ones.
    pub(super) async fn open(
        client: &Client,
        batch: &RemoteBatch,
        format: &LineFormat,
        skipped: u64,
    ) -> Result<ResultSource, Error> {
        let mut source = match format {
            LineFormat::File { .. } => {
                let output = FileResults::open(client, batch.output_file.as_deref()).await?;
                let errors = FileResults::open(client, batch.error_file.as_deref()).await?;
                ResultSource::Files(Box::new([output, errors]))
            }
            _ => ResultSource::Messages(client.message_batch_results(&batch.id).await?),
        };
        for _ in 0..skipped {
            source.next().await?;
        }
        Ok(source)
    }

    /// The next result; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let [first, second] = match self {
            ResultSource::Messages(lines) => return lines.next().await,
            ResultSource::Files(files) => &mut **files,
        };
        let number = |next: &Option<(u64, Vec<u8>)>| next.as_ref().map(|(number, _)| *number);
        let (left, right) = (number(first.peek().await?), number(second.peek().await?));
        let next = match (left, right) {
            (Some(left), Some(right)) if left > right => second.next.take(),
            (Some(_), _) => first.next.take(),
            (None, _) => second.next.take(),
        };
        Ok(next.map(|(_, line)| line))
    }
}

impl FileResults {
    async fn open(client: &Client, file: Option<&str>) -> Result<FileResults, Error> {
        let lines = match file {
            Some(file) => Some(client.file_lines(file).await?),
            None => None,
        };
        Ok(FileResults { lines, next: None })
    }

    async fn peek(&mut self) -> Result<&Option<(u64, Vec<u8>)>, Error> {
        if self.next.is_none()
            && let Some(lines) = &mut self.lines
            && let Some(line) = lines.next().await?
        {
            self.next = Some((request_number(&line), line));
        }
        Ok(&self.next)
    }
}

/// The number of the request of a line; the last one if it has none.
fn request_number(line: &[u8]) -> u64 {
    let id = serde_json::from_slice::<LineId>(line).ok();
    let number = id.and_then(|line| line.id.rsplit_once('_')?.1.parse().ok());
    number.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_request_is_at_the_end_of_its_id() {
        let line = br#"{"id":"batch_req_01ab_42","custom_id":"a_7","error":null}"#;
        assert_eq!(request_number(line), 42);
        assert_eq!(request_number(b"{}"), u64::MAX);
    }
}
