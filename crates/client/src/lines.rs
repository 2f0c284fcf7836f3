//! A response of lines, one at a time.

use reqwest::Response;

use crate::error::Error;

/// Maximum size of one line. Each may have a whole response of a model.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The lines of a response, over one connection.
#[derive(Debug)]
pub struct RemoteLines {
    response: Response,
    /// Bytes that are not a complete line.
    received: Vec<u8>,
    /// How many bytes at the start of them are lines that were returned.
    returned: usize,
    /// How many bytes after those are known not to end a line.
    searched: usize,
}

impl RemoteLines {
    pub(crate) fn new(response: Response) -> RemoteLines {
        RemoteLines {
            response,
            received: Vec::new(),
            returned: 0,
            searched: 0,
        }
    }

    /// The next line, without its end; none at the end of the response.
    ///
    /// # Errors
    /// When the connection breaks, or a line is too large.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            self.received.drain(..self.returned);
            self.returned = 0;
            if self.received.len() > MAX_LINE_BYTES {
                return Err(Error::LineTooLong(MAX_LINE_BYTES));
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| Error::InvalidResponse(error.without_url()))? {
                Some(chunk) => self.received.extend_from_slice(&chunk),
                None if self.received.is_empty() => return Ok(None),
                None => return Ok(Some(std::mem::take(&mut self.received))),
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let rest = self.received.get(self.returned..).unwrap_or_default();
        let unknown = rest.get(self.searched..).unwrap_or_default();
        let Some(at) = unknown.iter().position(|byte| *byte == b'\n') else {
            self.searched = rest.len();
            return None;
        };
        let end = self.searched + at;
        let line = rest.get(..end).unwrap_or_default().to_vec();
        self.returned += end + 1;
        self.searched = 0;
        Some(line)
    }
}
