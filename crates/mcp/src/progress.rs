//! Output of a running call, told as progress to clients that ask for it.

use prowess_toolbox::Chunk;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The least time between two notifications: output may come far faster than it is read.
const PACE: Duration = Duration::from_millis(250);

/// Most characters of output in one notification.
const LONGEST: usize = 200;

/// What a client hears of a call that runs; nothing if it gave no token.
pub(crate) struct Telling {
    asked: Option<(ProgressToken, Peer<RoleServer>)>,
    sender: Option<UnboundedSender<Chunk>>,
    chunks: UnboundedReceiver<Chunk>,
    /// Bytes of output so far.
    bytes: u64,
    last: Option<Instant>,
}

impl Telling {
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        let asked = token.map(|token| (token, context.peer.clone()));
        // Everything in it is taken out and counted at once, and little is kept.
        let (sender, chunks) = unbounded_channel();
        Telling {
            sender: asked.is_some().then_some(sender),
            asked,
            chunks,
            bytes: 0,
            last: None,
        }
    }

    /// Where the call is to send its output, if anyone wants it.
    pub(crate) fn take_sender(&mut self) -> Option<UnboundedSender<Chunk>> {
        self.sender.take()
    }

    /// The next piece of output; nothing when there will be none.
    pub(crate) async fn next(&mut self) -> Option<Chunk> {
        self.chunks.recv().await
    }

    /// Counts a piece, and tells of it unless that was done a moment ago.
    pub(crate) async fn tell(&mut self, chunk: &Chunk) {
        self.bytes += chunk.bytes.len() as u64;
        let Some((token, peer)) = &self.asked else {
            return;
        };
        if self.last.is_some_and(|last| last.elapsed() < PACE) {
            return;
        }
        self.last = Some(Instant::now());
        let told = ProgressNotificationParam::new(token.clone(), self.bytes as f64)
            .with_message(last_line(&chunk.bytes));
        // A client that has gone hears nothing more.
        let _ = peer.notify_progress(told).await;
    }
}

/// The last line that says something, harmless to a terminal.
fn last_line(bytes: &[u8]) -> String {
    let tail = bytes.len().saturating_sub(4 * LONGEST);
    let text = String::from_utf8_lossy(bytes.get(tail..).unwrap_or_default());
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let shown = line.unwrap_or_default().trim().chars();
    shown
        .filter(|char| !char.is_control())
        .take(LONGEST)
        .collect()
}
