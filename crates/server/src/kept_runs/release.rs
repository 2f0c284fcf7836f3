//! Giving up the runs of a server that stops, so that others have them at once.

use futures_util::future::join_all;
use prowess_engine::RunJournal;

use crate::app::App;
use crate::cluster::link::ClusterLink;

/// Gives the runs of this server to others, or to itself after a restart. Another gateway of its
/// cluster has them within milliseconds; if there is none, a run may still end here.
pub(crate) async fn release_all(app: &App) {
    let journals = app.local_runs().close();
    let hands_over = has_successor(app);
    if hands_over {
        // First of all: that a command was refused because the server stops is no result.
        join_all(journals.iter().map(|journal| journal.stop_writing())).await;
    }
    if hands_over && let Ok(sandboxes) = app.engine().sandbox_handle().sandbox().await {
        // Their commands are under way, and their next owner asks for them.
        sandboxes.leave_commands();
    }
    let released = journals.iter().map(|journal| release(journal, hands_over));
    join_all(released).await;
    if let Some(link) = app.cluster() {
        link.announce_runs();
    }
}

/// Gives away a run that was opened while the server stopped, if another gateway can take it.
/// Returns whether it did.
pub(super) async fn release_late(app: &App, journal: &RunJournal) -> bool {
    if !app.local_runs().is_closed() || !has_successor(app) {
        return false;
    }
    release(journal, true).await;
    if let Some(link) = app.cluster() {
        link.announce_runs();
    }
    true
}

fn has_successor(app: &App) -> bool {
    app.cluster().is_some_and(ClusterLink::has_successor)
}

async fn release(journal: &RunJournal, hands_over: bool) {
    let released = match hands_over {
        true => journal.hand_over().await,
        false => journal.release().await,
    };
    if let Err(error) = released {
        tracing::warn!(%error, run = journal.run(), "cannot release a run");
    }
}
