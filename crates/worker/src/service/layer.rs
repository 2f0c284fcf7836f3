//! Packages that a gateway wants installed before a command needs them.

use super::active_command::ActiveCommand;
use super::failure::CommandFailure;
use super::state::{TaskGuard, WorkerState};
use crate::protocol::{LayerRequest, WorkerReply, requirements_key};
use std::sync::Arc;
use tokio::time::Instant;

impl WorkerState {
    /// Installs packages.
    pub(super) async fn run_layer(
        self: Arc<Self>,
        request: Box<LayerRequest>,
        command: Arc<ActiveCommand>,
        _task: TaskGuard,
    ) {
        let accepted = WorkerReply::Accepted { attached: false };
        self.send_all(&command, &accepted).await;
        let built = self.sandbox.layer(&request.owner, &request.requirements);
        let built = tokio::select! {
            biased;
            reason = command.stopped() => Err(CommandFailure::from(reason.error())),
            built = self.with_beats(&command, built) => built.map_err(CommandFailure::from),
        };
        let reply = match built {
            Ok(layer) => {
                self.add_recent_layer(requirements_key(&request.requirements));
                WorkerReply::LayerReady {
                    remark: layer.remark().map(str::to_owned),
                }
            }
            Err(failure) => failure.into_reply(false),
        };
        self.commands().end(&request.command, None, Instant::now());
        self.send_all(&command, &reply).await;
    }
}
