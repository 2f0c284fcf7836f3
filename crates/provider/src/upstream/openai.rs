//! OpenAI's API and the many servers compatible with it.

use http::HeaderMap;
use http::uri::InvalidUri;
use prowess_wire::{Client, Dialect};
use url::Url;

use super::{Job, Task, below, get, post};
use crate::http::{Address, HttpRequest, headers};
use crate::key::{KeyError, Secret};

pub(crate) const OPENAI_HOST: &str = "api.openai.com";

#[derive(Debug)]
pub(crate) struct OpenAi {
    pub(crate) base: Url,
    /// Whether it has `/responses`.
    pub(crate) responses: bool,
    /// Where each dialect is spoken.
    chat: Address,
    asked: Address,
    counted: Address,
}

impl OpenAi {
    pub(crate) fn new(base: Url, responses: bool) -> Result<OpenAi, InvalidUri> {
        let address = |dialect, task| {
            let path = path(dialect, task).iter().copied();
            Address::try_from(&below(&base, path))
        };
        Ok(OpenAi {
            chat: address(Dialect::Chat, Task::Generate)?,
            asked: address(Dialect::Responses, Task::Generate)?,
            counted: address(Dialect::Responses, Task::CountTokens)?,
            base,
            responses,
        })
    }

    /// Whether this is OpenAI itself.
    pub(crate) fn is_openai(&self) -> bool {
        self.base.host_str() == Some(OPENAI_HOST)
    }

    pub(crate) fn speaks(&self, client: Client, task: Task) -> bool {
        match task {
            // Servers that are compatible with the rest do not have this.
            Task::Compact => client == Client::Responses && self.responses && self.is_openai(),
            _ => speaks(client, task) && (self.responses || client == Client::Chat),
        }
    }

    pub(crate) fn request(
        &self,
        job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        if job.task == Task::Compact {
            // Seldom enough to look for the place each time.
            let path = path(job.dialect, job.task).iter().copied();
            let url = below(&self.base, path);
            return Ok(post(url, with_key(job.headers, key)?, job.body));
        }
        let to = match (job.dialect, job.task) {
            (Dialect::Responses, Task::Generate) => &self.asked,
            (Dialect::Responses, Task::CountTokens) => &self.counted,
            _ => &self.chat,
        };
        Ok(post(to, with_key(job.headers, key)?, job.body))
    }

    pub(crate) fn list_request(
        &self,
        headers: HeaderMap,
        key: Option<&Secret>,
    ) -> Result<HttpRequest, KeyError> {
        let url = below(&self.base, ["models"]);
        Ok(get(url, with_key(headers, key)?))
    }
}

/// What a server with all of OpenAI's paths speaks.
pub(super) fn speaks(client: Client, task: Task) -> bool {
    match client {
        Client::Messages | Client::Gemini => false,
        Client::Chat => task == Task::Generate,
        Client::Responses => task != Task::Compact,
    }
}

/// Where a dialect is spoken.
pub(super) fn path(dialect: Dialect, task: Task) -> &'static [&'static str] {
    match (dialect, task) {
        (Dialect::Responses, Task::Generate) => &["responses"],
        (Dialect::Responses, Task::CountTokens) => &["responses", "input_tokens"],
        (Dialect::Responses, Task::Compact) => &["responses", "compact"],
        _ => &["chat", "completions"],
    }
}

fn with_key(mut headers: HeaderMap, key: Option<&Secret>) -> Result<HeaderMap, KeyError> {
    if let Some(key) = key {
        headers::set_bearer(&mut headers, key)?;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_openai_itself_compacts_conversations() {
        for (base, responses, compacts) in [
            ("https://api.openai.com/v1", true, true),
            ("https://api.openai.com/v1", false, false),
            ("http://127.0.0.1:8000/v1", true, false),
        ] {
            let upstream = OpenAi::new(base.parse().unwrap(), responses).unwrap();
            let speaks = |client, task| upstream.speaks(client, task);
            assert_eq!(speaks(Client::Responses, Task::Compact), compacts, "{base}");
            assert_eq!(speaks(Client::Responses, Task::Generate), responses);
            assert!(!speaks(Client::Chat, Task::Compact));
        }
        let path = path(Dialect::Responses, Task::Compact);
        assert_eq!(path, ["responses", "compact"]);
        assert!(!speaks(Client::Responses, Task::Compact), "nor on Azure");
    }
}
