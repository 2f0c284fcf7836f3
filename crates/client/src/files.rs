//! Files of a server.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};
use serde::{Deserialize, Serialize};

use crate::connection::{Client, encode_segment, read_json};
use crate::error::Error;
use crate::lines::RemoteLines;

/// A file of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// `file_…`.
    pub id: String,
    /// Its name, as its creator chose it.
    pub filename: String,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
}

/// The content of a file, over one connection.
#[derive(Debug)]
pub struct RemoteContent {
    response: Response,
}

impl Client {
    /// The name of a file, as its creator chose it.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn file_name(&self, id: &str) -> Result<String, Error> {
        Ok(self.file(id).await?.filename)
    }

    /// What is known of a file.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn file(&self, id: &str) -> Result<RemoteFile, Error> {
        self.get(&format!("/files/{}", encode_segment(id))).await
    }

    /// Uploads a file for requests to name. The server deletes it after `expires_in`, which
    /// is an hour at least.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses it.
    pub async fn upload_file(
        &self,
        name: &str,
        content: Vec<u8>,
        expires_in: Duration,
    ) -> Result<RemoteFile, Error> {
        let part = Part::bytes(content).file_name(name.to_owned());
        let part = part
            .mime_str("application/octet-stream")
            .map_err(Error::HttpClient)?;
        let form = Form::new()
            .text("purpose", "user_data")
            .text("expires_after[anchor]", "created_at")
            .text("expires_after[seconds]", expires_in.as_secs().to_string())
            .part("file", part);
        let request = self.request(Method::POST, "/files").multipart(form);
        read_json(self.send(request).await?).await
    }

    /// The content of a file.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn file_content(&self, id: &str) -> Result<RemoteContent, Error> {
        let response = self.open_file(id).await?;
        Ok(RemoteContent { response })
    }

    /// The lines of a file.
    ///
    /// # Errors
    /// When there is none with this id.
    pub async fn file_lines(&self, id: &str) -> Result<RemoteLines, Error> {
        Ok(RemoteLines::new(self.open_file(id).await?))
    }

    async fn open_file(&self, id: &str) -> Result<Response, Error> {
        let path = format!("/files/{}/content", encode_segment(id));
        self.send(self.request(Method::GET, &path)).await
    }
}

impl RemoteContent {
    /// More of the content; none at its end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let chunk = self.response.chunk().await;
        let chunk = chunk.map_err(|error| Error::InvalidResponse(error.without_url()))?;
        Ok(chunk.map(|chunk| chunk.to_vec()))
    }
}
