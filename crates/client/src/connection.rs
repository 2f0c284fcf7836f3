//! Requests to a server, its errors, and paginated lists.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;

/// The default address of `prowess serve`.
const DEFAULT_SERVER: &str = "http://127.0.0.1:4141";
/// Maximum number of items of a list.
const MAX_ITEMS: usize = 100_000;

/// A connection to a server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

#[derive(Debug, Deserialize)]
struct List<T> {
    data: Vec<T>,
    has_more: bool,
    last_id: Option<String>,
}

impl Client {
    /// A connection to this server, or to the default one of this machine. Nothing is sent
    /// yet.
    ///
    /// # Errors
    /// When the address is not a URL, or the HTTP client cannot be created.
    pub fn new(server: Option<&str>, key: Option<String>) -> Result<Client, Error> {
        Client::with_http(http_client(), server, key)
    }

    /// A connection to a server of this process, which no proxy can reach.
    ///
    /// # Errors
    /// As for [`Client::new`].
    pub fn without_proxy(server: &str, key: Option<String>) -> Result<Client, Error> {
        Client::with_http(http_client().no_proxy(), Some(server), key)
    }

    fn with_http(
        http: reqwest::ClientBuilder,
        server: Option<&str>,
        key: Option<String>,
    ) -> Result<Client, Error> {
        let http = http.build().map_err(Error::HttpClient)?;
        let base = server.unwrap_or(DEFAULT_SERVER);
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
        if !Url::parse(base).is_ok_and(|url| is_http(&url)) {
            return Err(Error::InvalidServerUrl(base.to_owned()));
        }
        let base = base.trim_end_matches('/').trim_end_matches("/v1");
        Ok(Client {
            http,
            base: format!("{base}/openai/v1"),
            key,
        })
    }

    /// The server's address.
    #[must_use]
    pub fn server(&self) -> &str {
        self.base.trim_end_matches("/openai/v1")
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request, and turns an error response into an error.
    pub(crate) fn send(&self, request: RequestBuilder) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async move {
            let unreachable = |error: reqwest::Error| Error::Unreachable {
                server: self.server().to_owned(),
                error: error.without_url(),
            };
            let response = request.send().await.map_err(unreachable)?;
            if response.status().is_success() {
                Ok(response)
            } else {
                Err(refusal_error(response).await)
            }
        })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        read_json(self.send(self.request(Method::GET, path)).await?).await
    }

    /// All of a list, page by page.
    pub(crate) async fn list_all<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut pairs = query.to_vec();
            pairs.push(("limit", "100"));
            pairs.extend(after.as_deref().map(|id| ("after", id)));
            let page: List<T> = self
                .get(&format!("{path}?{}", encode_query(&pairs)))
                .await?;
            items.extend(page.data);
            if !page.has_more || page.last_id.is_none() {
                return Ok(items);
            }
            if items.len() > MAX_ITEMS {
                return Err(Error::ListTooLong(MAX_ITEMS));
            }
            after = page.last_id;
        }
    }
}

fn http_client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(Duration::from_secs(300))
        .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
}

/// Does not show the key.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server())
            .finish_non_exhaustive()
    }
}

/// The JSON of a response.
pub(crate) async fn read_json<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let answer = response.json().await;
    answer.map_err(|error| Error::InvalidResponse(error.without_url()))
}

/// One segment of a path, percent-encoded.
pub(crate) fn encode_segment(text: &str) -> String {
    let mut url = match Url::parse("http://localhost/") {
        Ok(url) => url,
        Err(_) => return String::new(),
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear().push(text);
    }
    url.path().trim_start_matches('/').to_owned()
}

/// The query of a URL, percent-encoded.
pub(crate) fn encode_query(pairs: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("http://localhost", pairs);
    url.ok()
        .and_then(|url| url.query().map(str::to_owned))
        .unwrap_or_default()
}

/// The error that the server reports, with its request id.
async fn refusal_error(response: Response) -> Error {
    let status = response.status().as_u16();
    let id = response.headers().get("request-id");
    let request = id.and_then(|id| id.to_str().ok()).unwrap_or("-").to_owned();
    let body: Value = response.json().await.unwrap_or_default();
    let error_field = |field: &str| body.pointer(&format!("/error/{field}"))?.as_str();
    // Anthropic's errors have no place for a code but their details.
    let code = error_field("code").or_else(|| error_field("details/error_code"));
    Error::Refused {
        message: error_field("message")
            .unwrap_or("no reason given")
            .to_owned(),
        code: code.unwrap_or("-").to_owned(),
        status,
        request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_stays_one() {
        assert_eq!(encode_segment("skill_1"), "skill_1");
        assert_eq!(encode_segment("litellm:skill_1"), "litellm:skill_1");
        assert_eq!(encode_segment("../keys?x#y"), "..%2Fkeys%3Fx%23y");
    }

    #[test]
    fn the_key_is_not_shown() {
        let client = Client::new(Some("http://host/v1/"), Some("secret".into())).unwrap();
        assert_eq!(client.server(), "http://host");
        assert!(!format!("{client:?}").contains("secret"));
    }
}
