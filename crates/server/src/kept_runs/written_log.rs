//! The log of a run, as a client's dialect has it.

use prowess_engine::{LogEvent, parse_chunk};
use prowess_store::{Error as StoreError, Store, TenantId};
use prowess_wire::{ClientDialect, ReplyContext, StreamWriter};

/// Writes an event of the log.
pub(super) fn write_log_event(event: &LogEvent, writer: &mut StreamWriter, out: &mut Vec<u8>) {
    match event {
        LogEvent::CompletedAt(at) => writer.set_completed(*at),
        LogEvent::Response(event) => writer.write(event, out),
        LogEvent::StepStored => writer.finish_step(),
        LogEvent::StepAbandoned => writer.abandon_step(out),
        LogEvent::Dropped(_) | LogEvent::Step { .. } => {}
    }
}

/// The numbers of items that clients were sent and that are not part of the response, because
/// their steps were repeated. Only the Responses API names items by numbers.
///
/// # Errors
/// When the log cannot be read.
pub(super) async fn abandoned_items(
    store: &Store,
    tenant: &TenantId,
    run: &str,
    context: ReplyContext,
) -> Result<Vec<usize>, StoreError> {
    let mut writer = StreamWriter::new(ClientDialect::Responses, context);
    let (mut last, mut out) = (-1, Vec::new());
    loop {
        let chunks = store.event_chunks(tenant, run, last).await?;
        let Some(end) = chunks.last() else {
            return Ok(writer.abandoned_items().to_vec());
        };
        last = end.last_seq;
        for chunk in &chunks {
            for event in parse_chunk(chunk)? {
                write_log_event(&event, &mut writer, &mut out);
                out.clear();
            }
        }
    }
}
