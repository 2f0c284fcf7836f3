//! Output of a running call, reported as progress to clients that requested it.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use prowess_toolbox::OutputChunk;
use rmcp::RoleServer;
use rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::convert::Infallible;
use std::future::pending;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Minimum time between two notifications: output may be faster than the client.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// Characters of output in one notification.
const MAX_LINE_CHARS: usize = 200;

/// Bytes of a token. It is in every notification, of which some are kept for streams to come.
const MAX_TOKEN_BYTES: usize = 1 << 10;

/// Reports the progress of a call; does nothing if the client sent no token.
pub(crate) struct ProgressReporter {
    target: Option<(ProgressToken, Peer<RoleServer>)>,
    sender: Option<UnboundedSender<OutputChunk>>,
    chunks: UnboundedReceiver<OutputChunk>,
}

impl ProgressReporter {
    pub(crate) fn new(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token().filter(is_short);
        let target = token.map(|token| (token, context.peer.clone()));
        // The receiver drains it at once, so it stays short.
        let (sender, chunks) = unbounded_channel();
        ProgressReporter {
            sender: target.is_some().then_some(sender),
            target,
            chunks,
        }
    }

    /// The sender for the output of the call, if progress was requested.
    pub(crate) fn take_sender(&mut self) -> Option<UnboundedSender<OutputChunk>> {
        self.sender.take()
    }

    /// Reports the output of the call, until this is dropped.
    pub(crate) async fn forward(&mut self) -> Infallible {
        let target = self.target.take();
        forward_output(&mut self.chunks, |bytes, line| {
            let target = target.clone();
            Box::pin(async move {
                let Some((token, peer)) = target else { return };
                let notification =
                    ProgressNotificationParam::new(token, bytes as f64).with_message(line);
                // The client may be gone.
                let _ = peer.notify_progress(notification).await;
            })
        })
        .await
    }
}

fn is_short(token: &ProgressToken) -> bool {
    match &token.0 {
        NumberOrString::Number(_) => true,
        NumberOrString::String(text) => text.len() <= MAX_TOKEN_BYTES,
    }
}

/// Takes all output, and reports the bytes so far with the last line, at intervals. What comes
/// while a report waits for its client is counted and not kept.
async fn forward_output(
    chunks: &mut UnboundedReceiver<OutputChunk>,
    report: impl Fn(u64, String) -> BoxFuture<'static, ()>,
) -> Infallible {
    let mut bytes = 0;
    let mut last_sent: Option<Instant> = None;
    let mut sending: BoxFuture<'static, ()> = pending().boxed();
    let mut is_sending = false;
    loop {
        tokio::select! {
            Some(chunk) = chunks.recv() => {
                bytes += chunk.bytes.len() as u64;
                let is_early = last_sent.is_some_and(|last| last.elapsed() < MIN_INTERVAL);
                if !is_sending && !is_early {
                    (last_sent, is_sending) = (Some(Instant::now()), true);
                    sending = report(bytes, last_line(&chunk.bytes));
                }
            }
            () = &mut sending, if is_sending => is_sending = false,
            else => pending().await,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_sandbox::OutputStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_progress_is_reported_with_a_long_token() {
        let is_reported =
            |text: String| is_short(&ProgressToken(NumberOrString::String(text.into())));
        assert!(is_reported("x".repeat(MAX_TOKEN_BYTES)));
        assert!(!is_reported("x".repeat(MAX_TOKEN_BYTES + 1)));
    }

    #[tokio::test]
    async fn output_is_taken_while_a_report_waits_for_its_client() {
        let (sender, mut chunks) = unbounded_channel();
        for _ in 0..1_000 {
            let chunk = OutputChunk {
                stream: OutputStream::Stdout,
                bytes: b"more\n".to_vec(),
            };
            sender.send(chunk).unwrap();
        }
        let reports = AtomicUsize::new(0);
        let forwarding = forward_output(&mut chunks, |_, _| {
            reports.fetch_add(1, Ordering::Relaxed);
            pending().boxed()
        });
        let forwarded = tokio::time::timeout(MIN_INTERVAL * 2, forwarding).await;
        assert!(forwarded.is_err());
        assert!(chunks.try_recv().is_err(), "output is kept");
        assert_eq!(reports.load(Ordering::Relaxed), 1);
    }
}
