//! Requests to a server, its errors, and paginated lists.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderValue, LOCATION};
use reqwest::{Method, RequestBuilder, Response, Url, redirect};
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
    /// The value of `authorization`, if there is a key.
    authorization: Option<HeaderValue>,
}

#[derive(Debug, Deserialize)]
struct List<T> {
    data: Vec<T>,
    has_more: bool,
    last_id: Option<String>,
}

impl Client {
    /// A connection to this server, or to the default one of this machine. Nothing is sent
    /// yet. An address or a key that is empty counts as none.
    ///
    /// # Errors
    /// When the address is not a URL, the key cannot be sent, or the HTTP client cannot be
    /// created.
    pub fn new(server: Option<&str>, key: Option<String>) -> Result<Client, Error> {
        let server = server.map(str::trim).filter(|url| !url.is_empty());
        Client::with_http(http_client(), server.unwrap_or(DEFAULT_SERVER), key)
    }

    /// A connection to a server of this process, which no proxy can reach.
    ///
    /// # Errors
    /// As for [`Client::new`].
    pub fn without_proxy(server: &str, key: Option<String>) -> Result<Client, Error> {
        Client::with_http(http_client().no_proxy(), server, key)
    }

    fn with_http(
        http: reqwest::ClientBuilder,
        server: &str,
        key: Option<String>,
    ) -> Result<Client, Error> {
        let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
        let url = Url::parse(server).ok().filter(is_http);
        let url = url.ok_or_else(|| Error::InvalidServerUrl(server.to_owned()))?;
        // A proxy would connect to its own machine.
        let http = match is_loopback(&url) {
            true => http.no_proxy(),
            false => http,
        };
        let http = http.build().map_err(Error::HttpClient)?;
        let base = server.trim_end_matches('/').trim_end_matches("/v1");
        Ok(Client {
            http,
            base: format!("{base}/openai/v1"),
            authorization: authorization(key.as_deref())?,
        })
    }

    /// The server's address.
    #[must_use]
    pub fn server(&self) -> &str {
        self.base.trim_end_matches("/openai/v1")
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value.clone()),
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
            let status = response.status();
            if status.is_success() {
                Ok(response)
            } else if status.is_redirection() {
                Err(self.redirect_error(&response))
            } else {
                Err(refusal_error(response).await)
            }
        })
    }

    /// A redirected request would be another one: an upload becomes a list, and the key is left
    /// out.
    fn redirect_error(&self, response: &Response) -> Error {
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|place| place.to_str().ok());
        let target = response.url().join(location.unwrap_or_default());
        let to = target.map_or_else(
            |_| "an invalid address".to_owned(),
            |mut url| {
                url.set_query(None);
                url.to_string()
            },
        );
        let server = self.server().to_owned();
        Error::Redirected { server, to }
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
        .redirect(redirect::Policy::none())
        .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
}

/// Whether a URL is of this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = address.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

/// The header with a key. What was read from a file ends with a line end.
fn authorization(key: Option<&str>) -> Result<Option<HeaderValue>, Error> {
    let key = key.map(str::trim).filter(|key| !key.is_empty());
    let Some(key) = key else {
        return Ok(None);
    };
    let value = HeaderValue::try_from(format!("Bearer {key}"));
    let mut value = value.map_err(|_| Error::InvalidKey)?;
    value.set_sensitive(true);
    Ok(Some(value))
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
            .unwrap_or("no reason given; the response may be of another program than Prowess")
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

    #[test]
    fn an_empty_address_is_none() {
        let client = Client::new(Some(" "), None).unwrap();
        assert_eq!(client.server(), DEFAULT_SERVER);
    }

    #[test]
    fn the_machine_s_own_addresses_are_known() {
        let is_own = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for own in [
            "http://LOCALHOST:1",
            "http://127.0.0.2",
            "https://[::1]:4141/v1",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "http://10.0.0.1",
            "http://localhost.example",
            "http://[::2]",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
