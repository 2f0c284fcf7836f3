//! Finds the worker that runs a command which an earlier gateway has sent, or still has its
//! result: a gateway that died must not have the command run twice.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use prowess_worker::protocol::{SILENCE_TIMEOUT, WorkerReply};

use super::conversation::{WorkerConversation, WorkerEvent};
use super::dispatcher::Dispatcher;
use crate::registry::PlacedCommand;

/// How long a worker that was silent is waited for when it is to say whether it knows a command:
/// one that is well answers at once.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(1);

/// Asks all workers for a command, and continues with the one that knows it. A worker that is
/// alive is waited for as long as it counts as alive: the busy one that answers last may have it.
pub(crate) async fn find(
    dispatcher: &Dispatcher,
    command: &str,
    request: Bytes,
) -> Option<WorkerConversation> {
    let workers = dispatcher.registry.alive();
    let placed = workers
        .iter()
        .filter_map(|worker| dispatcher.registry.place_at(worker));
    let mut questions: FuturesUnordered<_> = placed
        .map(|placed| ask(dispatcher, placed, command, request.clone()))
        .collect();
    let first = async {
        while let Some(answer) = questions.next().await {
            if answer.is_some() {
                return answer;
            }
        }
        None
    };
    let found = first.await;
    let worker = found.as_ref().map(|found| &found.placed().worker);
    tracing::debug!(command, worker, "a resumed run has asked for its command");
    found
}

/// Asks one worker.
async fn ask(
    dispatcher: &Dispatcher,
    placed: PlacedCommand,
    command: &str,
    request: Bytes,
) -> Option<WorkerConversation> {
    let begins =
        WorkerConversation::begin(&dispatcher.link, placed, command, request, SILENCE_TIMEOUT);
    let mut conversation = begins.await.ok()?;
    let event = conversation.next_event().await;
    let has_it = match &event {
        WorkerEvent::Reply(reply, _) => match &**reply {
            WorkerReply::Accepted { attached } => *attached,
            WorkerReply::Ended(_) | WorkerReply::Beat | WorkerReply::Output { .. } => true,
            _ => false,
        },
        _ => false,
    };
    if !has_it {
        conversation.leave();
        return None;
    }
    conversation.put_back(event);
    Some(conversation)
}
