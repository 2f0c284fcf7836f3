//! Makes the first connection. Later ones are made by the client itself.

use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, ServerAddr};
use secrecy::ExposeSecret as _;
use tokio::time::Instant;

use super::events::NatsEvents;
use super::settings::NatsSettings;
use crate::SUBSCRIPTION_CAPACITY;
use crate::error::BusError;

/// One attempt with one server.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// A connection that is silent for three of these is given up.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// The longest pause between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(1);
/// Messages that wait to be sent.
const SEND_CAPACITY: usize = 1_024;

/// Connects, or says why that was not possible within the time of the settings.
pub(super) async fn connect(settings: &NatsSettings, sink: NatsEvents) -> Result<Client, BusError> {
    let servers = parse_servers(settings)?;
    let options = connect_options(settings, sink);
    let deadline = Instant::now() + settings.connect_timeout;
    let mut why = "it does not answer".to_owned();
    for attempt in 1.. {
        let connecting = options.clone().connect(servers.clone());
        match tokio::time::timeout_at(deadline, connecting).await {
            Ok(Ok(client)) => return Ok(client),
            Ok(Err(error)) => why = passing_problem(settings, &error)?,
            Err(_) => break,
        }
        let delay = reconnect_delay(attempt + 1);
        if Instant::now() + delay >= deadline {
            break;
        }
        tokio::time::sleep(delay).await;
    }
    let why = format!(
        "cannot connect to NATS at {}: {why}",
        settings.shown_servers()
    );
    if !settings.start_disconnected {
        return Err(BusError::Disconnected { why });
    }
    tracing::warn!(
        why,
        "starting without NATS; connecting is tried again until it succeeds"
    );
    let connecting = options.retry_on_initial_connect().connect(servers).await;
    connecting.map_err(|error| BusError::Invalid {
        why: error.to_string(),
    })
}

fn parse_servers(settings: &NatsSettings) -> Result<Vec<ServerAddr>, BusError> {
    let parse = |server: &String| server.parse::<ServerAddr>();
    let servers = settings.servers.iter().map(parse);
    let servers: Result<Vec<_>, _> = servers.collect();
    let servers = servers.map_err(|error| BusError::Invalid {
        why: error.to_string(),
    })?;
    if servers.is_empty() {
        let why = "no NATS server is named".to_owned();
        return Err(BusError::Invalid { why });
    }
    Ok(servers)
}

fn connect_options(settings: &NatsSettings, sink: NatsEvents) -> ConnectOptions {
    let mut options = ConnectOptions::new()
        .name(&settings.name)
        .custom_inbox_prefix(&settings.inbox_prefix)
        .connection_timeout(ATTEMPT_TIMEOUT)
        .ping_interval(PING_INTERVAL)
        .client_capacity(SEND_CAPACITY)
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .reconnect_delay_callback(reconnect_delay)
        .event_callback(move |event| {
            sink.take(event);
            std::future::ready(())
        });
    if let Some(user) = &settings.user {
        let password = settings.password.as_ref();
        let password = password.map_or("", |password| password.expose_secret());
        options = options.user_and_password(user.clone(), password.to_owned());
    }
    if let Some(token) = &settings.token {
        options = options.token(token.expose_secret().to_owned());
    }
    if let Some(file) = &settings.tls_ca {
        options = options
            .add_root_certificates(file.clone())
            .require_tls(true);
    }
    options
}

/// The pause before an attempt: none before the first, then longer and longer.
fn reconnect_delay(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(2)).unwrap_or(u32::MAX);
    match attempt {
        0 | 1 => Duration::ZERO,
        _ => MAX_DELAY.min(Duration::from_millis(20) * 2_u32.saturating_pow(doublings.min(16))),
    }
}

/// What is wrong, if it can pass by itself; else the error.
fn passing_problem(settings: &NatsSettings, error: &ConnectError) -> Result<String, BusError> {
    let servers = settings.shown_servers();
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            Err(BusError::Refused {
                why: format!(
                    "NATS at {servers} does not accept this user; check user, password and token"
                ),
            })
        }
        ConnectErrorKind::Tls | ConnectErrorKind::ServerParse => Err(BusError::Invalid {
            why: format!("cannot connect to NATS at {servers}: {error}"),
        }),
        _ => Ok(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rarer_up_to_a_bound() {
        let delays =
            [1, 2, 3, 4, 9, usize::MAX].map(|attempt| reconnect_delay(attempt).as_millis());
        assert_eq!(delays, [0, 20, 40, 80, 1_000, 1_000]);
    }
}
