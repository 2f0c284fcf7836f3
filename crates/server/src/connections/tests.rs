//! Which connection makes room, and when one is closed.

use super::*;

const ADDRESS: &str = "192.0.2.1";
const OTHER: &str = "192.0.2.2";

fn bounds() -> Bounds {
    Bounds {
        connections: 4,
        per_address: 4,
        first_request: Duration::from_secs(15),
        idle: Duration::from_secs(75),
    }
}

fn admitted(connections: &Arc<Connections>, address: &str) -> Option<Admission> {
    connections.try_admit(Peer::new(address.parse().unwrap()))
}

fn usual(connections: &Arc<Connections>, address: &str) -> Admission {
    let admission = admitted(connections, address).unwrap();
    assert_eq!(admission.place(), Place::Usual);
    admission
}

/// A request whose sender is known.
fn known(admission: &Admission) -> Underway {
    let mut underway = admission.link().begin().unwrap();
    underway.protect();
    underway
}

/// A request that was answered.
fn answered(admission: &Admission) {
    admission.link().begin().unwrap().answered();
}

fn closing(admission: &Admission) -> Option<Close> {
    let waker = std::task::Waker::noop();
    let context = std::task::Context::from_waker(waker);
    admission.link().poll_close(&context)
}

#[tokio::test]
async fn the_oldest_idle_connection_of_the_address_that_has_most_makes_room() {
    let connections = Connections::new(bounds());
    let alone = usual(&connections, OTHER);
    let busy = usual(&connections, ADDRESS);
    let _request = known(&busy);
    let oldest = usual(&connections, ADDRESS);
    let newest = usual(&connections, ADDRESS);
    let newcomer = usual(&connections, OTHER);
    assert_eq!(closing(&oldest), Some(Close::Now));
    for kept in [&alone, &busy, &newest, &newcomer] {
        assert_eq!(closing(kept), None);
    }
}

#[tokio::test]
async fn what_was_never_used_makes_room_and_then_what_is_idle_for_longest() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4).map(|_| usual(&connections, ADDRESS)).collect();
    // The oldest is used most, and last.
    for used in [0, 3, 1, 0] {
        let before = Instant::now();
        while Instant::now() == before {}
        answered(&all[used]);
    }
    let mut closed = Vec::new();
    for _ in &all {
        assert!(connections.lock().evict(Place::Usual, Instant::now()));
        let next = (0..4).find(|at| !closed.contains(at) && closing(&all[*at]).is_some());
        closed.push(next.unwrap());
    }
    assert_eq!(closed, [2, 3, 1, 0]);
}

#[tokio::test]
async fn of_addresses_with_as_many_connections_the_one_with_the_oldest_makes_room() {
    for _ in 0..16 {
        let connections = Connections::new(bounds());
        let addresses = [OTHER, ADDRESS, ADDRESS, OTHER];
        let all = addresses.map(|address| usual(&connections, address));
        let newcomer = usual(&connections, "192.0.2.3");
        assert_eq!(closing(&all[0]), Some(Close::Now));
        for kept in all[1..].iter().chain([&newcomer]) {
            assert_eq!(closing(kept), None);
        }
    }
}

#[tokio::test]
async fn requests_of_unknown_senders_keep_no_connection() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4).map(|_| usual(&connections, ADDRESS)).collect();
    let _known = known(&all[0]);
    // These wait for us, for their client, or for another request.
    let _waits = all[1].link().begin().unwrap();
    let mut unread = all[2].link().begin().unwrap();
    unread.gave();
    let _newcomers = [1, 2, 3].map(|_| {
        let newcomer = usual(&connections, OTHER);
        let underway = known(&newcomer);
        (newcomer, underway)
    });
    let closed: Vec<_> = all.iter().map(closing).collect();
    let now = Some(Close::Now);
    assert_eq!(closed, [None, now, now, now]);
    let spare = admitted(&connections, OTHER).unwrap();
    assert_eq!(spare.place(), Place::Spare);
}

#[tokio::test]
async fn a_connection_that_is_to_close_may_send_the_end_of_its_last_answer() {
    let connections = Connections::new(bounds());
    let start = Instant::now();
    let sweep = |after: Duration| {
        let mut table = connections.lock();
        table.close_overdue(&connections.bounds, start + after);
    };
    let busy = usual(&connections, ADDRESS);
    let idle = usual(&connections, ADDRESS);
    answered(&idle);
    let mut request = known(&busy);
    connections.close_all();
    sweep(Duration::from_secs(100));
    assert_eq!(closing(&idle), Some(Close::Now));
    assert_eq!(closing(&busy), Some(Close::Gracefully));
    request.answered();
    drop(request);
    // It is long since it was asked to close, and its answer was given away just now.
    sweep(Duration::from_secs(101));
    sweep(Duration::from_secs(105));
    assert_eq!(closing(&busy), Some(Close::Gracefully));
    sweep(Duration::from_secs(106));
    assert_eq!(closing(&busy), Some(Close::Now));
}

#[tokio::test]
async fn when_all_are_busy_a_newcomer_gets_a_spare_place() {
    let connections = Connections::new(bounds());
    let busy: Vec<Admission> = (0..4).map(|_| usual(&connections, ADDRESS)).collect();
    let requests: Vec<Underway> = busy.iter().map(known).collect();
    let spare: Vec<Admission> = (0..MAX_SPARE)
        .map(|_| admitted(&connections, OTHER).unwrap())
        .collect();
    assert!(spare.iter().all(|one| one.place() == Place::Spare));
    // Spare places are made free as the usual ones are.
    let next = admitted(&connections, OTHER).unwrap();
    assert_eq!(next.place(), Place::Spare);
    assert_eq!(closing(&spare[0]), Some(Close::Now));
    assert_eq!(closing(&spare[1]), None);
    drop(requests);
    drop(usual(&connections, OTHER));
}

#[tokio::test]
async fn an_address_with_too_many_makes_room_by_itself() {
    let connections = Connections::new(Bounds {
        per_address: 2,
        ..bounds()
    });
    let first = usual(&connections, ADDRESS);
    let second = usual(&connections, ADDRESS);
    let others = usual(&connections, OTHER);
    let third = usual(&connections, ADDRESS);
    assert_eq!(closing(&first), Some(Close::Now));
    let _second = known(&second);
    let _third = known(&third);
    let fourth = admitted(&connections, ADDRESS).unwrap();
    assert_eq!(fourth.place(), Place::Spare);
    assert_eq!(closing(&others), None);
}

#[tokio::test]
async fn closed_connections_that_do_not_go_away_stop_more_from_coming() {
    let connections = Connections::new(bounds());
    let mut stuck: Vec<Admission> = Vec::new();
    while let Some(admission) = admitted(&connections, ADDRESS) {
        stuck.push(admission);
        assert!(stuck.len() <= 4 + MAX_CLOSING);
    }
    assert_eq!(stuck.len(), 4 + MAX_CLOSING);
    stuck.remove(0);
    assert!(admitted(&connections, ADDRESS).is_some());
}

#[tokio::test]
async fn connections_are_closed_when_their_time_is_up() {
    let connections = Connections::new(bounds());
    let sweep = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    let unused = usual(&connections, ADDRESS);
    let idle = usual(&connections, ADDRESS);
    answered(&idle);
    let busy = usual(&connections, ADDRESS);
    let _request = busy.link().begin().unwrap();
    let unread = usual(&connections, ADDRESS);
    let mut answer = unread.link().begin().unwrap();
    answer.gave();
    sweep(10);
    assert_eq!(closing(&unused), None);
    sweep(16);
    assert_eq!(closing(&unused), Some(Close::Now));
    assert_eq!(closing(&idle), None);
    // Asking for more is no reading, and giving that up is none.
    unread.link().begin().unwrap().gave();
    let mut more = unread.link().begin().unwrap();
    more.gave();
    sweep(10 + 76);
    assert_eq!(closing(&idle), Some(Close::Gracefully));
    assert_eq!(closing(&unread), Some(Close::Now));
    sweep(10 + 76 + 6);
    assert_eq!(closing(&idle), Some(Close::Now));
    sweep(3_600);
    assert_eq!(closing(&busy), None);
}

#[tokio::test]
async fn a_client_that_reads_nothing_makes_room_and_one_that_waits_for_us_does_not() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4).map(|_| usual(&connections, ADDRESS)).collect();
    let mut answers: Vec<Underway> = all.iter().map(known).collect();
    let sweep = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    let make_room = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().evict(Place::Usual, now)
    };
    answers[1].gave();
    answers[2].gave();
    sweep(0);
    answers[2].wanted();
    answers[2].gave();
    assert!(!make_room(1), "it may be reading");
    assert!(make_room(6));
    let closed: Vec<_> = all.iter().map(closing).collect();
    assert_eq!(closed, [None, Some(Close::Now), None, None]);
    assert!(!make_room(6), "the other has read something since");
}

#[tokio::test]
async fn a_long_wait_for_a_model_does_not_count_as_unread() {
    let connections = Connections::new(bounds());
    let connection = usual(&connections, ADDRESS);
    let mut answer = connection.link().begin().unwrap();
    let now = Instant::now();
    let sweep = |after: u64| {
        let now = now + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    sweep(1);
    sweep(600);
    answer.gave();
    sweep(601);
    assert_eq!(closing(&connection), None);
    sweep(602 + 75);
    assert_eq!(closing(&connection), Some(Close::Now));
}

#[tokio::test]
async fn places_are_free_again_however_a_connection_ends() {
    let connections = Connections::new(bounds());
    for _ in 0..100 {
        let all: Vec<Admission> = (0..10).map(|_| usual(&connections, ADDRESS)).collect();
        drop(all);
    }
    let mut table = connections.lock();
    assert_eq!(table.count(Place::Usual), 0);
    assert_eq!(table.closing(), 0);
}
