//! Running a command, and sending its output while it runs.

use super::active_command::ActiveCommand;
use super::failure::CommandFailure;
use super::state::WorkerState;
use crate::protocol::{ExecRequest, WorkerReply};
use prowess_sandbox::{
    CommandId, EgressSecret, Execution, ExecutionReport, FilesAfter, OutputChunk, RunOwnership,
    Snapshot,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Bytes of output in one message.
const MAX_CHUNK_BYTES: usize = 64 << 10;

impl WorkerState {
    /// Runs the command in its container, whose copy is ready and has the files `before`. Returns
    /// the files afterwards too, unless it has surely left them as they were.
    pub(super) async fn run(
        &self,
        request: &ExecRequest,
        command: &ActiveCommand,
        before: Arc<Snapshot>,
    ) -> Result<(ExecutionReport, Option<FilesAfter>), CommandFailure> {
        let (sender, mut chunks) = unbounded_channel();
        let given = &request.execution;
        let execution = Execution {
            command: given.command.clone(),
            stdin: given.stdin.as_ref().to_vec(),
            env: given.env.clone(),
            secrets: secrets(request),
            timeout: given.timeout_ms.map(Duration::from_millis),
            stream: given.stream.then_some(sender),
            id: CommandId::try_from(request.command.clone()).ok(),
            attach_only: false,
            run: request.run.clone(),
            epoch: request.epoch,
            ownership: RunOwnership::default(),
            traceparent: request.traceparent.clone(),
        };
        command.set_started(true);
        let (owner, id) = (&request.owner, &request.container);
        let ran = self.sandbox.exec_and_snapshot(owner, id, execution, before);
        tokio::pin!(ran);
        let mut seq = 0;
        loop {
            tokio::select! {
                biased;
                Some(chunk) = chunks.recv() => {
                    self.send_output(command, chunk, &mut chunks, &mut seq).await;
                }
                ended = &mut ran => {
                    while let Ok(chunk) = chunks.try_recv() {
                        self.send_output(command, chunk, &mut chunks, &mut seq).await;
                    }
                    // The queue refused it, or there was nothing to run it in.
                    let ended = ended.map_err(CommandFailure::from);
                    if ended.as_ref().is_err_and(CommandFailure::is_before_start) {
                        command.set_started(false);
                    }
                    return ended;
                }
            }
        }
    }

    /// Sends a chunk, together with those that follow it already.
    async fn send_output(
        &self,
        command: &ActiveCommand,
        first: OutputChunk,
        chunks: &mut UnboundedReceiver<OutputChunk>,
        seq: &mut u64,
    ) {
        let mut chunk = first;
        loop {
            let next = match chunks.try_recv() {
                Ok(next)
                    if next.stream == chunk.stream
                        && chunk.bytes.len() + next.bytes.len() <= MAX_CHUNK_BYTES =>
                {
                    chunk.bytes.extend_from_slice(&next.bytes);
                    continue;
                }
                Ok(next) => Some(next),
                Err(_) => None,
            };
            let output = WorkerReply::Output {
                seq: *seq,
                stream: chunk.stream,
                bytes: chunk.bytes.into(),
            };
            *seq += 1;
            self.send_all(command, &output).await;
            match next {
                Some(next) => chunk = next,
                None => return,
            }
        }
    }
}

fn secrets(request: &ExecRequest) -> Vec<EgressSecret> {
    let given = request.execution.secrets.iter();
    given
        .map(|secret| EgressSecret {
            stand_in: secret.stand_in.clone(),
            value: secret.value.clone(),
            domain: secret.domain.clone(),
        })
        .collect()
}
