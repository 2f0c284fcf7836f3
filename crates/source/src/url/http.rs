//! One GET request: redirects, sizes, timeouts.
//!
//! Redirects are followed here and not by the HTTP client, so that each hop passes the
//! guard. Proxies of the environment are not used: a proxy resolves names itself, and its
//! targets cannot be checked. Bytes are counted as received and never decompressed.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect, retry};
use tokio::time::timeout;
use url::Url;

use super::error::FetchError;
use super::guard::{self, Guard};
use super::options::{FetchLimits, FetchOptions};

/// The HTTP client.
pub(super) struct HttpFetcher {
    client: Client,
    guard: Guard,
    limits: FetchLimits,
    progress: Option<std::sync::Arc<dyn Fn(u64) + Send + Sync>>,
}

/// Validators of a response, for conditional requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

/// A response.
pub(super) struct HttpAnswer {
    /// The bytes; none if the cached ones are still valid.
    pub(super) body: Option<Bytes>,
    pub(super) validators: Validators,
    pub(super) cache_control: String,
    /// Time that the response has been in other caches.
    pub(super) age: Duration,
}

impl HttpFetcher {
    pub(super) fn new(options: &FetchOptions) -> Result<Self, FetchError> {
        let guard = Guard::new(options.allow_private, options.refuse_own_addresses);
        let client = Client::builder()
            .dns_resolver(std::sync::Arc::new(guard.clone()))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            .referer(false)
            .connect_timeout(options.net.connect)
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| FetchError::Client(error.to_string()))?;
        Ok(HttpFetcher {
            client,
            guard,
            limits: options.net.clone(),
            progress: options.progress.clone(),
        })
    }

    /// Checks a URL before any request.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        self.guard.check(url)
    }

    /// Fetches at most `cap` bytes; with validators, only if the content has changed.
    pub(super) async fn get(
        &self,
        url: &Url,
        cap: u64,
        known: Option<&Validators>,
    ) -> Result<HttpAnswer, FetchError> {
        let total = self.limits.total;
        let exchange = async {
            let response = self.follow(url, known).await?;
            self.read_answer(response, cap, known.is_some()).await
        };
        timeout(total, exchange)
            .await
            .unwrap_or(Err(FetchError::Timeout(total)))
    }

    /// Follows redirects to a response.
    async fn follow(&self, url: &Url, known: Option<&Validators>) -> Result<Response, FetchError> {
        let mut url = url.clone();
        for _ in 0..=self.limits.redirects {
            self.guard.check(&url)?;
            let response = self.send(&url, known).await?;
            if !is_redirect(response.status()) {
                return Ok(response);
            }
            url = redirect_target(&url, response.headers())?;
        }
        Err(FetchError::Redirects(self.limits.redirects))
    }

    async fn send(&self, url: &Url, known: Option<&Validators>) -> Result<Response, FetchError> {
        let mut request = self
            .client
            .get(url.clone())
            .header(header::ACCEPT_ENCODING, "identity");
        let conditions = known.map(|known| {
            [
                (header::IF_NONE_MATCH, &known.etag),
                (header::IF_MODIFIED_SINCE, &known.last_modified),
            ]
        });
        for (name, value) in conditions.into_iter().flatten() {
            // The file on disk may have been changed since.
            if let Some(value) = value.as_deref().and_then(|v| HeaderValue::from_str(v).ok()) {
                request = request.header(name, value);
            }
        }
        match timeout(self.limits.idle, request.send()).await {
            Err(_) => Err(FetchError::Idle(self.limits.idle)),
            Ok(Err(error)) => Err(connection_error(error)),
            Ok(Ok(response)) => Ok(response),
        }
    }

    async fn read_answer(
        &self,
        response: Response,
        cap: u64,
        conditional: bool,
    ) -> Result<HttpAnswer, FetchError> {
        let status = response.status();
        let unchanged = status == StatusCode::NOT_MODIFIED && conditional;
        if status != StatusCode::OK && !unchanged {
            return Err(FetchError::Status(status.as_u16()));
        }
        let headers = response.headers();
        let text = |name| -> Option<String> { Some(headers.get(name)?.to_str().ok()?.to_owned()) };
        let age = text(header::AGE).and_then(|age| age.trim().parse().ok());
        let mut answer = HttpAnswer {
            body: None,
            validators: Validators {
                etag: text(header::ETAG),
                last_modified: text(header::LAST_MODIFIED),
            },
            cache_control: text(header::CACHE_CONTROL).unwrap_or_default(),
            age: Duration::from_secs(age.unwrap_or(0)),
        };
        if !unchanged {
            answer.body = Some(self.body(response, cap).await?);
        }
        Ok(answer)
    }

    /// The body, within the limits of size and time.
    async fn body(&self, mut response: Response, cap: u64) -> Result<Bytes, FetchError> {
        if response.content_length().is_some_and(|length| length > cap) {
            return Err(FetchError::TooLarge(cap));
        }
        let began = Instant::now();
        let mut body = BytesMut::new();
        loop {
            let chunk = match timeout(self.limits.idle, response.chunk()).await {
                Err(_) => return Err(FetchError::Idle(self.limits.idle)),
                Ok(Err(error)) => return Err(FetchError::Interrupted(root_cause(&error))),
                Ok(Ok(None)) => return Ok(body.freeze()),
                Ok(Ok(Some(chunk))) => chunk,
            };
            if body.len() as u64 + chunk.len() as u64 > cap {
                return Err(FetchError::TooLarge(cap));
            }
            body.extend_from_slice(&chunk);
            if let Some(progress) = &self.progress {
                progress(chunk.len() as u64);
            }
            self.check_pace(began.elapsed(), body.len() as u64)?;
        }
    }

    fn check_pace(&self, elapsed: Duration, bytes: u64) -> Result<(), FetchError> {
        let least = self.limits.min_bytes_per_second as f64 * elapsed.as_secs_f64();
        if elapsed > self.limits.grace && (bytes as f64) < least {
            return Err(FetchError::TooSlow(self.limits.min_bytes_per_second));
        }
        Ok(())
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The target of a redirect.
fn redirect_target(url: &Url, headers: &HeaderMap) -> Result<Url, FetchError> {
    let broken = |why: &str| FetchError::RedirectBroken(why.to_owned());
    let place = headers
        .get(header::LOCATION)
        .ok_or_else(|| broken("it does not say where"))?;
    let place = place.to_str().map_err(|_| broken("it is not text"))?;
    let next = url
        .join(place)
        .map_err(|error| broken(&error.to_string()))?;
    check_no_downgrade(url, &next)?;
    Ok(next)
}

/// Whether one URL may lead to another: never from TLS to plain HTTP.
pub(super) fn check_no_downgrade(from: &Url, to: &Url) -> Result<(), FetchError> {
    if from.scheme() == "https" && to.scheme() == "http" {
        let host = to.host_str().unwrap_or_default().to_owned();
        return Err(FetchError::Downgrade { host });
    }
    Ok(())
}

fn connection_error(error: reqwest::Error) -> FetchError {
    guard::guard_error(&error).unwrap_or_else(|| FetchError::Unreachable(root_cause(&error)))
}

/// The last error of the chain, which is the most specific.
fn root_cause(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_out_of_tls_is_refused() {
        let url = |text| Url::parse(text).unwrap();
        let code =
            |from, to| check_no_downgrade(&url(from), &url(to)).map_err(|error| error.code());
        assert_eq!(
            code("https://a.test", "http://a.test"),
            Err("url-downgrade")
        );
        assert_eq!(code("http://a.test", "http://b.test"), Ok(()));
        assert_eq!(code("http://a.test", "https://a.test"), Ok(()));
    }

    #[test]
    fn a_host_may_be_slow_for_a_while_only() {
        let http = HttpFetcher::new(&FetchOptions::default()).unwrap();
        let pace = |seconds, bytes| http.check_pace(Duration::from_secs(seconds), bytes).is_ok();
        assert!(pace(5, 1), "within the grace");
        assert!(pace(20, 20 << 10));
        assert!(!pace(20, 19 << 10));
    }
}
