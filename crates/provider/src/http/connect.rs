//! New connections: directly to an upstream, or through a proxy.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use tower_service::Service;

use super::connection::UpstreamConnection;

pub(super) type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// An unresponsive connection is detected after three of these.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_RETRIES: u32 = 3;

/// Opens connections.
#[derive(Debug)]
pub(super) struct UpstreamConnector {
    tcp: HttpConnector,
    tls: Arc<ClientConfig>,
    /// From HTTPS_PROXY and similar variables; `None` for an upstream on this machine.
    proxies: Option<Matcher>,
}

impl UpstreamConnector {
    pub(super) fn new(local: bool) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        let tls = tls_config().map_err(|error| error.to_string())?;
        Ok(UpstreamConnector {
            tcp,
            tls: Arc::new(tls),
            proxies: (!local).then(Matcher::from_system),
        })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self, to: &Uri) -> Result<Box<UpstreamConnection>, ConnectError> {
        let proxy = self.proxies.as_ref().and_then(|all| all.intercept(to));
        let Some(proxy) = proxy else {
            let io = self.direct_connector().call(to.clone()).await?;
            return Ok(UpstreamConnection::open(to, Box::new(io)).await?);
        };
        if to.scheme_str() == Some("https") {
            let io = self.tunnel_connector(&proxy).call(to.clone()).await?;
            return Ok(UpstreamConnection::open(to, Box::new(io)).await?);
        }
        let io = self.direct_connector().call(proxy.uri().clone()).await?;
        let connection = UpstreamConnection::open(to, Box::new(io)).await?;
        Ok(connection.through_proxy(proxy.basic_auth().cloned()))
    }

    fn direct_connector(&self) -> HttpsConnector<HttpConnector> {
        HttpsConnector::from((self.tcp.clone(), Arc::clone(&self.tls)))
    }

    fn tunnel_connector(
        &self,
        proxy: &Intercept,
    ) -> HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>> {
        let tunnel = Tunnel::new(proxy.uri().clone(), self.direct_connector());
        let auth: Option<HeaderValue> = proxy.basic_auth().cloned();
        let tunnel = match auth {
            Some(auth) => tunnel.with_auth(auth),
            None => tunnel,
        };
        HttpsConnector::from((tunnel, Arc::clone(&self.tls)))
    }
}

/// Certificates are verified as the system does.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    Ok(config.try_with_platform_verifier()?.with_no_client_auth())
}
