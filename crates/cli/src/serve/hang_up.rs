//! SIGHUP: the server reads its configuration again.

#[cfg(unix)]
use std::io::IsTerminal;

use prowess_server::App;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Hang-up signals, received from the moment this is created.
#[cfg(unix)]
pub(super) struct HangUps {
    signals: Signal,
    /// Whether the server was started in a terminal.
    in_terminal: bool,
}

#[cfg(unix)]
impl HangUps {
    pub(super) fn listen() -> std::io::Result<HangUps> {
        Ok(HangUps {
            signals: signal(SignalKind::hangup())?,
            in_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// Reads the configuration again with each signal; the log says what came of it. A terminal
    /// that was closed sends the signal too, and then the server stops.
    pub(super) async fn reload(mut self, app: App, stop: CancellationToken) {
        while self.signals.recv().await.is_some() {
            if self.in_terminal && !std::io::stdin().is_terminal() {
                stop.cancel();
                return;
            }
            // Logged there, with every problem.
            let _ = app.reload().await;
        }
    }
}

#[cfg(not(unix))]
pub(super) struct HangUps;

#[cfg(not(unix))]
impl HangUps {
    pub(super) fn listen() -> std::io::Result<HangUps> {
        Ok(HangUps)
    }

    pub(super) async fn reload(self, _app: App, _stop: CancellationToken) {}
}
