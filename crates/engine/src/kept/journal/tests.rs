//! What listeners on the same server learn from a journal: they do not ask the store otherwise.

use prowess_store::{BeginOutcome, NewJournalRun, StoreConfig, TenantId};
use tempfile::TempDir;

use super::*;

const LEASE: Duration = Duration::from_secs(600);

async fn begin() -> (Arc<RunJournal>, TempDir) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(&StoreConfig::local(folder.path()))
        .await
        .unwrap();
    let new = NewJournalRun {
        id: "run_1",
        api_key: None,
        dialect: "responses",
        model: "m",
        kept: true,
        format: 2,
        idempotency_key: None,
        request_digest: "d",
        request: b"{}",
    };
    let tenant = TenantId::default_tenant();
    match store.begin_run(&tenant, &new, "a", LEASE).await {
        Ok(BeginOutcome::Started(lease)) => {
            assert!(lease.is_first());
            (RunJournal::begin(store, lease, Instant::now()), folder)
        }
        other => panic!("{other:?}"),
    }
}

/// What a listener is told next; none if nothing has happened.
fn news(listener: &mut watch::Receiver<StoredLog>) -> Option<(i64, bool)> {
    if !listener.has_changed().unwrap() {
        return None;
    }
    let stored = *listener.borrow_and_update();
    Some((stored.last_seq, stored.is_final))
}

#[tokio::test]
async fn listeners_learn_what_was_stored_and_that_the_run_has_ended_without_an_event() {
    let (journal, _folder) = begin().await;
    let mut listener = journal.subscribe();
    journal.push(&LogEvent::CompletedAt(1));
    assert_eq!(news(&mut listener), None);
    journal.flush().await.unwrap();
    assert_eq!(news(&mut listener), Some((0, false)));
    let step = NewStep {
        kind: prowess_store::StepKind::Turn,
        call: None,
        body: "{}",
    };
    let held = [LogEvent::CompletedAt(2)];
    let appended = journal.append(&step, StepChanges::default(), &held);
    appended.await.unwrap();
    // The held event, and that its step is stored.
    assert_eq!(news(&mut listener), Some((2, false)));
    journal.end(RunState::Completed, "{}", &[]).await.unwrap();
    assert_eq!(news(&mut listener), Some((2, true)));
}

#[tokio::test]
async fn maintenance_ends_between_two_transactions_and_begins_none_afterwards() {
    let (journal, _folder) = begin().await;
    let mut listener = journal.subscribe();
    journal.push(&LogEvent::CompletedAt(1));
    let ending = async {
        listener.changed().await.unwrap();
        journal.end_maintenance();
    };
    let (stop, ()) = tokio::join!(journal.maintain(), ending);
    assert!(stop.is_none(), "{stop:?}");
    assert_eq!(news(&mut listener), None);
    journal.push(&LogEvent::CompletedAt(2));
    assert!(journal.maintain().await.is_none());
    assert_eq!(news(&mut listener), None);
    // Nor of a run that was handed over.
    let (journal, _folder) = begin().await;
    journal.hand_over().await.unwrap();
    let ending = async { journal.end_maintenance() };
    let (stop, ()) = tokio::join!(journal.maintain(), ending);
    assert!(stop.is_none(), "{stop:?}");
}

#[tokio::test]
async fn events_are_left_to_the_next_step_if_the_last_one_was_stored_a_moment_ago() {
    let (journal, _folder) = begin().await;
    // Nothing waits for the store from here on, so time passes by itself.
    tokio::time::pause();
    let ending = async {
        tokio::time::sleep(FLUSH_INTERVAL / 2).await;
        // As a step does.
        assert!(journal.pending().take().is_none());
        journal.push(&LogEvent::CompletedAt(1));
        // Maintenance has looked once by then.
        tokio::time::sleep(FLUSH_INTERVAL * 3 / 4).await;
        assert!(journal.pending().sizes().0 > 0);
        journal.end_maintenance();
    };
    let (stop, ()) = tokio::join!(journal.maintain(), ending);
    assert!(stop.is_none(), "{stop:?}");
}

#[tokio::test]
async fn a_run_that_is_handed_over_right_after_a_step_is_lost_at_once() {
    let (journal, _folder) = begin().await;
    journal.hand_over().await.unwrap();
    // Nothing waits for the store from here on, so time passes by itself.
    tokio::time::pause();
    let ending = async {
        tokio::time::sleep(FLUSH_INTERVAL / 2).await;
        // As a step does: nothing is flushed when maintenance looks for the first time.
        assert!(journal.pending().take().is_none());
        tokio::time::sleep(FLUSH_INTERVAL).await;
        assert!(journal.ownership().is_lost());
        journal.end_maintenance();
    };
    let (stop, ()) = tokio::join!(journal.maintain(), ending);
    assert!(stop.is_none(), "{stop:?}");
}

#[tokio::test]
async fn a_run_is_given_up_before_its_lease_ends_although_the_store_does_not_answer() {
    let (journal, _folder) = begin().await;
    // Nothing waits for the store from here on, so time passes by itself.
    tokio::time::pause();
    journal.set_renewed(Instant::now().checked_sub(lease_time()).unwrap());
    let unanswered = journal.owned.lock().await;
    let stop = journal.maintain().await;
    assert!(matches!(stop, Some(JournalStop::LeaseOver)), "{stop:?}");
    assert!(journal.ownership().is_lost());
    drop(unanswered);
}

#[tokio::test]
async fn listeners_learn_that_a_run_was_released() {
    let (journal, _folder) = begin().await;
    let mut listener = journal.subscribe();
    journal.release().await.unwrap();
    assert_eq!(news(&mut listener), Some((-1, true)));
    drop(journal);
    assert!(listener.has_changed().is_err());
}

#[tokio::test]
async fn a_run_that_was_handed_over_is_free_whatever_its_server_still_does() {
    let (journal, _folder) = begin().await;
    let mut listener = journal.subscribe();
    journal.hand_over().await.unwrap();
    assert_eq!(news(&mut listener), Some((-1, true)));
    let step = NewStep {
        kind: prowess_store::StepKind::Turn,
        call: None,
        body: "{}",
    };
    let appended = journal.append(&step, StepChanges::default(), &[]).await;
    assert!(matches!(appended, Err(JournalStop::Lost)), "{appended:?}");
    journal.push(&LogEvent::CompletedAt(1));
    assert!(matches!(journal.flush().await, Err(JournalStop::Lost)));
    let ended = journal.end(RunState::Completed, "{}", &[]).await;
    assert!(matches!(ended, Err(JournalStop::Lost)), "{ended:?}");
    let claimed = journal.store.claim_runs("b", LEASE, 2, 1, &[], &[]).await;
    assert_eq!(claimed.unwrap().len(), 1);
}
