//! Finds the worker that runs a command which an earlier gateway has sent, or still has its
//! result: a gateway that died must not have the command run twice.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use prowess_worker::protocol::{BEAT_INTERVAL, RemoteError, SILENCE_TIMEOUT, WorkerReply};
use tokio::time::Instant;

use super::conversation::{CommandName, WorkerConversation, WorkerEvent};
use super::dispatcher::Dispatcher;
use crate::registry::PlacedCommand;

/// How long a worker that was silent is waited for when it is to say whether it knows a command:
/// one that is well answers at once.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(1);

/// How long it takes until all workers have announced themselves.
const BEATS_TIME: Duration = BEAT_INTERVAL.saturating_add(Duration::from_millis(500));
/// How often it is checked whether the bus is connected again.
const BUS_INTERVAL: Duration = Duration::from_millis(100);

/// Finds the worker that knows a command. A gateway that has just started does not know all
/// workers, and one whose bus is or was down reaches none: it asks a second time. An error says that another
/// gateway has the run: then this one must not have the command run elsewhere.
pub(crate) async fn find(
    dispatcher: &Dispatcher,
    command: CommandName<'_>,
    request: Bytes,
) -> Result<Option<WorkerConversation>, RemoteError> {
    let reconnects = || dispatcher.link.bus.statistics().reconnects;
    let reconnects_before = reconnects();
    let found = ask_all(dispatcher, command, request.clone()).await?;
    if found.is_some() {
        return Ok(found);
    }
    let deadline = Instant::now() + dispatcher.wait;
    let mut all_known = dispatcher.registry.since + BEATS_TIME;
    // Questions were lost, or beats were: nobody counts as alive after a silence.
    if reconnects() != reconnects_before || dispatcher.registry.alive().is_empty() {
        all_known = Instant::now() + BEATS_TIME;
    }
    while !dispatcher.link.bus.is_connected() && Instant::now() < deadline {
        tokio::time::sleep(BUS_INTERVAL).await;
        all_known = Instant::now() + BEATS_TIME;
    }
    if Instant::now() >= all_known {
        return Ok(None);
    }
    tokio::time::sleep_until(all_known).await;
    ask_all(dispatcher, command, request).await
}

/// Asks all workers for a command, and continues with the one that knows it. A worker that is
/// alive is waited for as long as it counts as alive: the busy one that answers last may have it.
async fn ask_all(
    dispatcher: &Dispatcher,
    command: CommandName<'_>,
    request: Bytes,
) -> Result<Option<WorkerConversation>, RemoteError> {
    let workers = dispatcher.registry.alive();
    let placed = workers
        .iter()
        .filter_map(|worker| dispatcher.registry.place_at(worker));
    let mut questions: FuturesUnordered<_> = placed
        .map(|placed| ask(dispatcher, placed, command, request.clone()))
        .collect();
    let first = async {
        while let Some(answer) = questions.next().await {
            if let Some(found) = answer? {
                return Ok(Some(found));
            }
        }
        Ok::<_, RemoteError>(None)
    };
    let found = first.await?;
    let worker = found.as_ref().map(|found| &found.placed().worker);
    let command = command.id;
    tracing::debug!(command, worker, "a resumed run has asked for its command");
    Ok(found)
}

/// Asks one worker.
async fn ask(
    dispatcher: &Dispatcher,
    placed: PlacedCommand,
    command: CommandName<'_>,
    request: Bytes,
) -> Result<Option<WorkerConversation>, RemoteError> {
    let begins =
        WorkerConversation::begin(&dispatcher.link, placed, command, request, SILENCE_TIMEOUT);
    let Ok(mut conversation) = begins.await else {
        return Ok(None);
    };
    let event = conversation.next_event().await;
    let has_it = match &event {
        WorkerEvent::Reply(reply, _) => match &**reply {
            WorkerReply::Accepted { attached } => *attached,
            WorkerReply::Ended(_) | WorkerReply::Beat | WorkerReply::Output { .. } => true,
            WorkerReply::Failed(error) if error.code == RemoteError::RUN_LOST => {
                return Err(error.clone());
            }
            _ => false,
        },
        _ => false,
    };
    if !has_it {
        conversation.leave();
        return Ok(None);
    }
    conversation.put_back(event);
    Ok(Some(conversation))
}
