//! Output of a running call, reported as progress to clients that requested it.

use prowess_toolbox::OutputChunk;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Minimum time between two notifications: output may be faster than the client.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// Characters of output in one notification.
const MAX_LINE_CHARS: usize = 200;

/// Reports the progress of a call; does nothing if the client sent no token.
pub(crate) struct ProgressReporter {
    target: Option<(ProgressToken, Peer<RoleServer>)>,
    sender: Option<UnboundedSender<OutputChunk>>,
    chunks: UnboundedReceiver<OutputChunk>,
    /// Bytes of output so far.
    bytes: u64,
    last_sent: Option<Instant>,
}

impl ProgressReporter {
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        let target = token.map(|token| (token, context.peer.clone()));
        // The receiver drains it at once, so it stays short.
        let (sender, chunks) = unbounded_channel();
        ProgressReporter {
            sender: target.is_some().then_some(sender),
            target,
            chunks,
            bytes: 0,
            last_sent: None,
        }
    }

    /// The sender for the output of the call, if progress was requested.
    pub(crate) fn take_sender(&mut self) -> Option<UnboundedSender<OutputChunk>> {
        self.sender.take()
    }

    /// The next chunk of output; none at the end.
    pub(crate) async fn next(&mut self) -> Option<OutputChunk> {
        self.chunks.recv().await
    }

    /// Counts a chunk, and reports it unless a report was sent just before.
    pub(crate) async fn report(&mut self, chunk: &OutputChunk) {
        self.bytes += chunk.bytes.len() as u64;
        let Some((token, peer)) = &self.target else {
            return;
        };
        if self
            .last_sent
            .is_some_and(|last| last.elapsed() < MIN_INTERVAL)
        {
            return;
        }
        self.last_sent = Some(Instant::now());
        let notification = ProgressNotificationParam::new(token.clone(), self.bytes as f64)
            .with_message(last_line(&chunk.bytes));
        // The client may be gone.
        let _ = peer.notify_progress(notification).await;
    }
}

/// The last line that is not empty, without control characters.
fn last_line(bytes: &[u8]) -> String {
    let tail = bytes.len().saturating_sub(4 * MAX_LINE_CHARS);
    let text = String::from_utf8_lossy(bytes.get(tail..).unwrap_or_default());
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let shown = line.unwrap_or_default().trim().chars();
    shown
        .filter(|char| !char.is_control())
        .take(MAX_LINE_CHARS)
        .collect()
}
