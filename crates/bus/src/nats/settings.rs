//! How to connect to NATS servers.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Where the servers are, and as whom to connect.
#[derive(Clone)]
pub struct NatsSettings {
    /// Addresses of the servers, of which one is used at a time: `nats://host:4222`, or
    /// `tls://host:4222`, which refuses a connection without TLS.
    pub servers: Vec<String>,
    /// The user, if the servers know users by name.
    pub user: Option<String>,
    /// The password of the user.
    pub password: Option<SecretString>,
    /// The token, if the servers know users by token.
    pub token: Option<SecretString>,
    /// File of the CA certificates (PEM) to trust instead of the system's. With it, TLS is
    /// required.
    pub tls_ca: Option<PathBuf>,
    /// Where subjects for replies are. The user must be permitted to subscribe below it.
    pub inbox_prefix: String,
    /// A name of this connection, which the servers list.
    pub name: String,
    /// How long the first connection may take.
    pub connect_timeout: Duration,
    /// Whether to begin without a connection when the servers cannot be reached in that time. It
    /// is made as soon as they can.
    pub start_disconnected: bool,
}

impl NatsSettings {
    /// The settings for servers without users.
    pub fn new(
        servers: Vec<String>,
        inbox_prefix: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        NatsSettings {
            servers,
            user: None,
            password: None,
            token: None,
            tls_ca: None,
            inbox_prefix: inbox_prefix.into(),
            name: name.into(),
            connect_timeout: Duration::from_secs(10),
            start_disconnected: false,
        }
    }

    /// Connects as a user.
    #[must_use]
    pub fn with_password(mut self, user: impl Into<String>, password: &str) -> Self {
        self.user = Some(user.into());
        self.password = Some(password.into());
        self
    }

    /// Connects with a token.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The servers, without what could be a password.
    pub(super) fn shown_servers(&self) -> String {
        let shown = self.servers.iter().map(|server| without_password(server));
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Debug for NatsSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NatsSettings")
            .field("servers", &self.shown_servers())
            .field("user", &self.user)
            .field("password", &self.password)
            .field("token", &self.token)
            .field("tls_ca", &self.tls_ca)
            .field("inbox_prefix", &self.inbox_prefix)
            .field("name", &self.name)
            .field("connect_timeout", &self.connect_timeout)
            .field("start_disconnected", &self.start_disconnected)
            .finish()
    }
}

/// An address without user and password.
fn without_password(server: &str) -> String {
    let (scheme, rest) = server.split_once("://").unwrap_or(("nats", server));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let servers = vec!["nats://u:in-url@a:4222".to_owned(), "b".to_owned()];
        let settings = NatsSettings::new(servers, "a.in", "test")
            .with_password("user", "the-password")
            .with_token("the-token");
        let shown = format!("{settings:?}");
        for secret in ["in-url", "the-password", "the-token"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert_eq!(settings.shown_servers(), "nats://a:4222, nats://b");
    }
}
