//! Requesting something of the gateway whose command needs it.

use super::active_command::ActiveCommand;
use super::state::WorkerState;
use crate::protocol::{Ask, GatewayAnswer, RemoteError, WorkerReply, decode, encode};
use std::time::Duration;
use tokio::time::Instant;

/// Pause before a gateway that did not answer is tried again, unless another one comes.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Attempts to get an answer of one gateway.
const MAX_ATTEMPTS: usize = 3;

impl WorkerState {
    /// Requests something of the newest gateway of a command. If that one dies, the next one
    /// that attaches to the command is tried.
    pub(super) async fn ask(
        &self,
        command: &ActiveCommand,
        ask: Ask,
    ) -> Result<GatewayAnswer, RemoteError> {
        let reply = WorkerReply::Ask(ask);
        let deadline = Instant::now() + self.settings.keep_timeout;
        loop {
            let answer = match command.newest_listener() {
                Some(listener) => self.ask_once(&listener, &reply).await,
                None => Err("no gateway waits for it".to_owned()),
            };
            match answer {
                Ok(answer) => return check(answer),
                Err(why) if Instant::now() >= deadline => return Err(unanswered(&why)),
                Err(_) => tokio::select! {
                    () = command.new_listener() => {}
                    () = tokio::time::sleep(RETRY_PAUSE) => {}
                },
            }
        }
    }

    /// Requests something of this gateway only.
    pub(super) async fn ask_listener(
        &self,
        listener: &str,
        ask: Ask,
    ) -> Result<GatewayAnswer, RemoteError> {
        let reply = WorkerReply::Ask(ask);
        let mut last = String::new();
        for _ in 0..MAX_ATTEMPTS {
            match self.ask_once(listener, &reply).await {
                Ok(answer) => return check(answer),
                Err(why) => last = why,
            }
        }
        Err(unanswered(&last))
    }

    async fn ask_once(&self, listener: &str, reply: &WorkerReply) -> Result<GatewayAnswer, String> {
        let payload = encode(reply).map_err(|error| error.to_string())?;
        let limit = self.settings.answer_timeout;
        let answer = self.bus.request(listener, payload, limit).await;
        let answer = answer.map_err(|error| error.to_string())?;
        decode(&answer.payload).map_err(|error| error.to_string())
    }
}

fn check(answer: GatewayAnswer) -> Result<GatewayAnswer, RemoteError> {
    match answer {
        GatewayAnswer::Refused { why } => Err(RemoteError::new(
            RemoteError::FILES_UNAVAILABLE,
            format!("the gateway refused what the command needs: {why}"),
        )),
        answer => Ok(answer),
    }
}

fn unanswered(why: &str) -> RemoteError {
    tracing::warn!(why, "a gateway did not answer");
    let message = "the gateway did not provide what the command needs";
    RemoteError::new(RemoteError::FILES_UNAVAILABLE, message)
}
