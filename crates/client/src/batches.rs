//! Batches of a server, in both vendors' APIs: creating, reading, cancelling.
//!
//! Requests and results are JSON that belongs to the caller; here they are only sent and
//! received, one at a time.

use std::io;

use futures_util::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use serde::{Deserialize, Serialize};

use crate::connection::{Client, encode_segment, read_json};
use crate::error::Error;
use crate::lines::RemoteLines;

/// How ids of batches of Anthropic's API begin.
const MESSAGE_BATCH_PREFIX: &str = "msgbatch_";
/// How long a file of requests is stored, in seconds. It is read when its batch is created.
const REQUEST_FILE_SECONDS: &str = "172800";

/// A batch on the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteBatch {
    /// `msgbatch_…` in Anthropic's API, `batch_…` in OpenAI's.
    pub id: String,
    /// As in its API: `in_progress`, `canceling`, `ended`, or `validating`, `in_progress`,
    /// `finalizing`, `completed`, `failed`, `expired`, `cancelling`, `cancelled`.
    pub status: String,
    /// When it was created: in RFC 3339, or in seconds since 1970, as in its API.
    pub created_at: String,
    /// All requests; 0 until they are read.
    pub requests: u64,
    /// Those with a response.
    pub succeeded: u64,
    /// Those with an error, and those that were cancelled or expired.
    pub failed: u64,
    /// Why it failed, or what it waits for.
    pub errors: Vec<String>,
    /// The file with responses, in OpenAI's API.
    pub output_file: Option<String>,
    /// The file with errors, in OpenAI's API.
    pub error_file: Option<String>,
}

impl RemoteBatch {
    /// Whether it never changes again.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        let ended = ["ended", "completed", "failed", "expired", "cancelled"];
        ended.contains(&self.status.as_str())
    }
}

impl Client {
    /// Creates a batch of Anthropic's API, of requests that are JSON objects. The same key
    /// finds the batch that it has created before.
    ///
    /// # Errors
    /// When a request cannot be read, or the server cannot be reached or refuses.
    pub async fn create_message_batch(
        &self,
        key: &str,
        requests: impl Iterator<Item = io::Result<String>> + Send + 'static,
    ) -> Result<RemoteBatch, Error> {
        let separated = requests.enumerate().map(|(index, request)| match index {
            0 => request,
            _ => request.map(|request| format!(",{request}")),
        });
        let start = std::iter::once(Ok("{\"requests\":[".to_owned()));
        let end = std::iter::once(Ok("]}".to_owned()));
        let body = Body::wrap_stream(stream::iter(start.chain(separated).chain(end)));
        let request = self.request(Method::POST, "/messages/batches");
        let request = request.header("idempotency-key", key);
        let request = request.header("content-type", "application/json");
        let created: MessageBatch = read_json(self.send(request.body(body)).await?).await?;
        Ok(created.into())
    }

    /// Stores the requests of a batch of OpenAI's API, lines that are JSON objects, and
    /// returns the id of the file.
    ///
    /// # Errors
    /// When a line cannot be read, or the server cannot be reached or refuses.
    pub async fn upload_batch_lines(
        &self,
        lines: impl Iterator<Item = io::Result<String>> + Send + 'static,
    ) -> Result<String, Error> {
        let lines = lines.map(|line| line.map(|line| line + "\n"));
        let part = Part::stream(Body::wrap_stream(stream::iter(lines)));
        let form = Form::new()
            .text("purpose", "batch")
            .text("expires_after[anchor]", "created_at")
            .text("expires_after[seconds]", REQUEST_FILE_SECONDS)
            .part("file", part.file_name("requests.jsonl"));
        let request = self.request(Method::POST, "/files").multipart(form);
        let stored: StoredFile = read_json(self.send(request).await?).await?;
        Ok(stored.id)
    }

    /// Creates a batch of OpenAI's API, of a stored file. The same key finds the batch that
    /// it has created before.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn create_file_batch(
        &self,
        key: &str,
        file: &str,
        endpoint: &str,
    ) -> Result<RemoteBatch, Error> {
        let request = self.request(Method::POST, "/batches");
        let request = request.header("idempotency-key", key);
        let request = request.json(&serde_json::json!({
            "input_file_id": file,
            "endpoint": endpoint,
            "completion_window": "24h",
        }));
        let created: FileBatch = read_json(self.send(request).await?).await?;
        Ok(created.into())
    }

    /// A batch as it is now.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn batch(&self, id: &str) -> Result<RemoteBatch, Error> {
        let path = batch_path(id);
        Ok(match is_message_batch(id) {
            true => self.get::<MessageBatch>(&path).await?.into(),
            false => self.get::<FileBatch>(&path).await?.into(),
        })
    }

    /// The newest batches of both APIs, up to so many of each, newest first.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn batches(&self, limit: u32) -> Result<Vec<RemoteBatch>, Error> {
        let messages: Batches<MessageBatch> = self
            .get(&format!("/messages/batches?limit={limit}"))
            .await?;
        let files: Batches<FileBatch> = self.get(&format!("/batches?limit={limit}")).await?;
        let mut all: Vec<RemoteBatch> = messages.data.into_iter().map(Into::into).collect();
        all.extend(files.data.into_iter().map(RemoteBatch::from));
        // Ids begin with the time of their creation.
        let time = |batch: &RemoteBatch| {
            let id = batch.id.split_once('_').map_or("", |(_, digits)| digits);
            std::cmp::Reverse(id.to_owned())
        };
        all.sort_by_cached_key(time);
        Ok(all)
    }

    /// Cancels a batch, and returns it as it is then. One that has ended stays as it is.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn cancel_batch(&self, id: &str) -> Result<RemoteBatch, Error> {
        let path = format!("{}/cancel", batch_path(id));
        let response = self.send(self.request(Method::POST, &path)).await?;
        Ok(match is_message_batch(id) {
            true => read_json::<MessageBatch>(response).await?.into(),
            false => read_json::<FileBatch>(response).await?.into(),
        })
    }

    /// The results of a batch of Anthropic's API that has ended, in the order of its requests.
    ///
    /// # Errors
    /// When there is none with this id, or it has not ended.
    pub async fn message_batch_results(&self, id: &str) -> Result<RemoteLines, Error> {
        let path = format!("{}/results", batch_path(id));
        let response = self.send(self.request(Method::GET, &path)).await?;
        Ok(RemoteLines::new(response))
    }
}

fn is_message_batch(id: &str) -> bool {
    id.starts_with(MESSAGE_BATCH_PREFIX)
}

fn batch_path(id: &str) -> String {
    let folder = match is_message_batch(id) {
        true => "/messages/batches",
        false => "/batches",
    };
    format!("{folder}/{}", encode_segment(id))
}

#[derive(Debug, Deserialize)]
struct Batches<T> {
    data: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct StoredFile {
    id: String,
}

#[derive(Debug, Deserialize)]
struct MessageBatch {
    id: String,
    processing_status: String,
    created_at: String,
    request_counts: MessageCounts,
}

#[derive(Debug, Deserialize)]
struct MessageCounts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

impl From<MessageBatch> for RemoteBatch {
    fn from(batch: MessageBatch) -> RemoteBatch {
        let counts = batch.request_counts;
        let failed = counts.errored + counts.canceled + counts.expired;
        RemoteBatch {
            id: batch.id,
            status: batch.processing_status,
            created_at: batch.created_at,
            requests: counts.processing + counts.succeeded + failed,
            succeeded: counts.succeeded,
            failed,
            errors: Vec::new(),
            output_file: None,
            error_file: None,
        }
    }
}

#[derive(Debug, Deserialize)]
struct FileBatch {
    id: String,
    status: String,
    created_at: i64,
    request_counts: FileCounts,
    errors: Option<FileErrors>,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FileCounts {
    total: u64,
    completed: u64,
    failed: u64,
}

#[derive(Debug, Deserialize)]
struct FileErrors {
    data: Vec<FileError>,
}

#[derive(Debug, Deserialize)]
struct FileError {
    message: String,
}

impl From<FileBatch> for RemoteBatch {
    fn from(batch: FileBatch) -> RemoteBatch {
        let errors = batch.errors.map(|errors| errors.data).unwrap_or_default();
        RemoteBatch {
            id: batch.id,
            status: batch.status,
            created_at: batch.created_at.to_string(),
            requests: batch.request_counts.total,
            succeeded: batch.request_counts.completed,
            failed: batch.request_counts.failed,
            errors: errors.into_iter().map(|error| error.message).collect(),
            output_file: batch.output_file_id,
            error_file: batch.error_file_id,
        }
    }
}
