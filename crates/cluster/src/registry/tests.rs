//! Workers come, go, drain and restart.

use super::*;
use crate::waiting::WaitEnd;

fn beat(id: &str, boot: &str, running: usize) -> WorkerBeat {
    WorkerBeat {
        id: id.into(),
        boot: boot.into(),
        running,
        slots: 4,
        protocol: 1,
        grade: "strict".into(),
        ..WorkerBeat::default()
    }
}

fn place(registry: &Arc<WorkerRegistry>, last: Option<&str>) -> Option<PlacedCommand> {
    registry.place(last, &ExcludedWorkers::new(), &CommandNeeds::default())
}

#[tokio::test(start_paused = true)]
async fn a_silent_a_draining_and_a_paused_worker_get_nothing() {
    let registry = Arc::new(WorkerRegistry::new(10));
    assert!(place(&registry, None).is_none());
    registry.observe(beat("a", "1", 0));
    assert_eq!(place(&registry, None).unwrap().worker, "a");
    registry.pause("a");
    assert!(place(&registry, None).is_none());
    registry.observe(beat("a", "1", 0));
    assert!(place(&registry, None).is_some());
    let draining = WorkerBeat {
        draining: true,
        ..beat("a", "1", 0)
    };
    registry.observe(draining);
    assert!(place(&registry, Some("a")).is_none());
    assert_eq!(registry.count(), (1, 1));
    registry.observe(beat("a", "1", 0));
    tokio::time::advance(SILENCE_TIMEOUT).await;
    assert!(place(&registry, Some("a")).is_none());
    assert!(!registry.is_alive("a", "1"));
    assert_eq!(registry.status().len(), 1);
    tokio::time::advance(SHOWN_FOR).await;
    assert!(registry.status().is_empty());
}

#[tokio::test(start_paused = true)]
async fn commands_of_this_gateway_count_before_and_after_the_next_beat() {
    let registry = Arc::new(WorkerRegistry::new(10));
    registry.observe(beat("a", "1", 0));
    registry.observe(beat("b", "1", 0));
    let first = place(&registry, None).unwrap();
    // The other one has less to do, whichever was chosen.
    let second = place(&registry, None).unwrap();
    assert_ne!(first.worker, second.worker);
    // The beat counts the command that is there: it is not counted twice.
    registry.observe(beat(&first.worker, "1", 1));
    let third = place(&registry, Some(&first.worker)).unwrap();
    assert_eq!(third.worker, first.worker);
    let load = |id: &str| {
        let all = registry.status();
        let worker = all.into_iter().find(|worker| worker.id == id);
        worker.unwrap().in_flight
    };
    assert_eq!(load(&first.worker), 2);
    let worker = first.worker.clone();
    drop((first, third));
    assert_eq!(load(&worker), 0);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_worker_is_another_one() {
    let registry = Arc::new(WorkerRegistry::new(10));
    registry.observe(beat("a", "1", 0));
    let before = place(&registry, None).unwrap();
    let excluded = ExcludedWorkers::from([before.name()]);
    let needs = CommandNeeds::default();
    assert!(registry.place(None, &excluded, &needs).is_none());
    registry.observe(beat("a", "2", 0));
    assert!(registry.is_restarted("a", &before.boot));
    let after = registry.place(None, &excluded, &needs).unwrap();
    drop(before);
    assert_eq!(registry.status().first().unwrap().in_flight, 1);
    drop(after);
    assert_eq!(registry.status().first().unwrap().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_beat_is_of_a_known_worker_only_if_it_names_its_start() {
    let registry = Arc::new(WorkerRegistry::new(10));
    assert!(!registry.knows(&beat("a", "1", 0)));
    registry.observe(beat("a", "1", 0));
    assert!(registry.knows(&beat("a", "1", 3)));
    assert!(!registry.knows(&beat("a", "2", 0)));
    assert!(!registry.knows(&beat("b", "1", 0)));
    // Its silence changes neither.
    tokio::time::advance(SILENCE_TIMEOUT).await;
    assert!(registry.knows(&beat("a", "1", 0)));
    assert!(!registry.knows(&beat("a", "2", 0)));
}

#[tokio::test(start_paused = true)]
async fn a_beat_with_room_wakes_those_who_wait() {
    let registry = Arc::new(WorkerRegistry::new(10));
    let mut waiter = registry.line.join("tenant", None).unwrap();
    registry.observe(beat("a", "1", 4));
    assert_eq!(registry.line.len(), 1);
    registry.observe(beat("a", "1", 3));
    let soon = Instant::now() + Duration::from_secs(1);
    assert_eq!(waiter.wait(soon).await, WaitEnd::Room);
}

#[tokio::test(start_paused = true)]
async fn ids_that_are_no_tokens_are_ignored() {
    let registry = Arc::new(WorkerRegistry::new(10));
    for id in ["", "a.b", "*", ">", "a b"] {
        registry.observe(beat(id, "1", 0));
    }
    assert!(registry.status().is_empty());
}
