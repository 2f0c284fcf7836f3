//! Files of a server.

use reqwest::{Method, Response};
use serde::Deserialize;

use crate::connection::{Client, encode_segment};
use crate::error::Error;
use crate::lines::RemoteLines;

#[derive(Debug, Deserialize)]
struct FileObject {
    filename: String,
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
        let found: FileObject = self.get(&format!("/files/{}", encode_segment(id))).await?;
        Ok(found.filename)
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
