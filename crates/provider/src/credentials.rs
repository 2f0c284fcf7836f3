//! What a client sends with its calls: its own key and its headers.

use http::{HeaderMap, HeaderValue};

use crate::key::SecretText;

/// The client's own key and headers, sent with its calls.
#[derive(Debug, Clone, Default)]
pub struct ClientCredentials {
    /// The client's own key for the provider; used only where the provider allows it.
    pub key: Option<SecretText>,
    /// The headers of the client's request. Passed on when the dialect stays the same; a
    /// translated request only carries `anthropic-beta` and the trace headers.
    pub headers: HeaderMap,
}

impl ClientCredentials {
    /// Adds Anthropic beta features to those that the client names.
    pub fn add_betas(&mut self, betas: &'static str) {
        let betas = HeaderValue::from_static(betas);
        self.headers.append("anthropic-beta", betas);
    }
}
