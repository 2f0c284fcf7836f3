//! New connections: to an upstream itself, or through the proxy that stands between.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use tower_service::Service;

use super::link::Link;

pub(super) type DialError = Box<dyn std::error::Error + Send + Sync>;
/// Bytes to an upstream and back, encrypted or not.
pub(super) type Io = Box<dyn Socket>;

/// A connection that is not silent for a reason is found dead after three of these.
const PROBE: Duration = Duration::from_secs(15);
const PROBES: u32 = 3;

/// Anything that bytes travel by.
pub(super) trait Socket: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Socket for T {}

/// Makes connections.
#[derive(Debug)]
pub(super) struct Dialer {
    tcp: HttpConnector,
    tls: Arc<ClientConfig>,
    /// As HTTPS_PROXY and its like say; none for an upstream on this machine.
    proxies: Option<Matcher>,
}

impl Dialer {
    pub(super) fn new(local: bool) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(PROBE));
        tcp.set_keepalive_interval(Some(PROBE));
        tcp.set_keepalive_retries(Some(PROBES));
        let tls = tls().map_err(|error| error.to_string())?;
        Ok(Dialer {
            tcp,
            tls: Arc::new(tls),
            proxies: (!local).then(Matcher::from_system),
        })
    }

    /// Connects.
    pub(super) async fn dial(&self, to: &Uri) -> Result<Box<Link>, DialError> {
        let proxy = self.proxies.as_ref().and_then(|all| all.intercept(to));
        let Some(proxy) = proxy else {
            let io = self.direct().call(to.clone()).await?;
            return Link::open(to, Box::new(io)).await;
        };
        if to.scheme_str() == Some("https") {
            let io = self.tunnel(&proxy).call(to.clone()).await?;
            return Link::open(to, Box::new(io)).await;
        }
        let io = self.direct().call(proxy.uri().clone()).await?;
        let link = Link::open(to, Box::new(io)).await?;
        Ok(link.through_proxy(proxy.basic_auth().cloned()))
    }

    fn direct(&self) -> HttpsConnector<HttpConnector> {
        HttpsConnector::from((self.tcp.clone(), Arc::clone(&self.tls)))
    }

    fn tunnel(&self, proxy: &Intercept) -> HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>> {
        let tunnel = Tunnel::new(proxy.uri().clone(), self.direct());
        let auth: Option<HeaderValue> = proxy.basic_auth().cloned();
        let tunnel = match auth {
            Some(auth) => tunnel.with_auth(auth),
            None => tunnel,
        };
        HttpsConnector::from((tunnel, Arc::clone(&self.tls)))
    }
}

/// Certificates are judged as the system does.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    Ok(config.try_with_platform_verifier()?.with_no_client_auth())
}
