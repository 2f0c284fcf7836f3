//! Which connection is evicted, and when one is closed.

use super::*;

const ADDRESS: &str = "192.0.2.1";
const OTHER: &str = "192.0.2.2";

fn bounds() -> ConnectionBounds {
    ConnectionBounds {
        connections: 4,
        per_address: 4,
        first_request: Duration::from_secs(15),
        idle: Duration::from_secs(75),
    }
}

fn try_admit(connections: &Arc<Connections>, address: &str) -> Option<Admission> {
    let address = address.parse().unwrap();
    connections.try_admit(Peer::new(address), address)
}

fn admit_regular(connections: &Arc<Connections>, address: &str) -> Admission {
    let admission = try_admit(connections, address).unwrap();
    assert_eq!(admission.slot(), ConnectionSlot::Regular);
    admission
}

/// A request with an authenticated sender.
fn begin_known_request(admission: &Admission) -> ActiveRequest {
    let mut active = admission.state().begin_request().unwrap();
    active.protect();
    active
}

/// A request that was answered.
fn answer_request(admission: &Admission) {
    admission.state().begin_request().unwrap().mark_answered();
}

fn close_mode(admission: &Admission) -> Option<CloseMode> {
    let waker = std::task::Waker::noop();
    let context = std::task::Context::from_waker(waker);
    admission.state().poll_close(&context)
}

#[tokio::test]
async fn the_oldest_idle_connection_of_the_address_that_has_most_is_evicted() {
    let connections = Connections::new(bounds());
    let alone = admit_regular(&connections, OTHER);
    let busy = admit_regular(&connections, ADDRESS);
    let _request = begin_known_request(&busy);
    let oldest = admit_regular(&connections, ADDRESS);
    let newest = admit_regular(&connections, ADDRESS);
    let newcomer = admit_regular(&connections, OTHER);
    assert_eq!(close_mode(&oldest), Some(CloseMode::Now));
    for kept in [&alone, &busy, &newest, &newcomer] {
        assert_eq!(close_mode(kept), None);
    }
}

#[tokio::test]
async fn what_was_never_used_is_evicted_and_then_what_is_idle_for_longest() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4)
        .map(|_| admit_regular(&connections, ADDRESS))
        .collect();
    // The oldest is used most often, and last.
    for used in [0, 3, 1, 0] {
        let before = Instant::now();
        while Instant::now() == before {}
        answer_request(&all[used]);
    }
    let mut closed = Vec::new();
    for _ in &all {
        assert!(
            connections
                .lock()
                .evict(ConnectionSlot::Regular, Instant::now())
        );
        let next = (0..4).find(|at| !closed.contains(at) && close_mode(&all[*at]).is_some());
        closed.push(next.unwrap());
    }
    assert_eq!(closed, [2, 3, 1, 0]);
}

#[tokio::test]
async fn of_addresses_with_as_many_connections_the_one_with_the_oldest_is_evicted() {
    for _ in 0..16 {
        let connections = Connections::new(bounds());
        let addresses = [OTHER, ADDRESS, ADDRESS, OTHER];
        let all = addresses.map(|address| admit_regular(&connections, address));
        let newcomer = admit_regular(&connections, "192.0.2.3");
        assert_eq!(close_mode(&all[0]), Some(CloseMode::Now));
        for kept in all[1..].iter().chain([&newcomer]) {
            assert_eq!(close_mode(kept), None);
        }
    }
}

#[tokio::test]
async fn requests_of_unknown_senders_keep_no_connection() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4)
        .map(|_| admit_regular(&connections, ADDRESS))
        .collect();
    let _known = begin_known_request(&all[0]);
    // These wait for the server, for their client, or for another request.
    let _waits = all[1].state().begin_request().unwrap();
    let mut unread = all[2].state().begin_request().unwrap();
    unread.on_chunk_sent();
    let _newcomers = [1, 2, 3].map(|_| {
        let newcomer = admit_regular(&connections, OTHER);
        let active = begin_known_request(&newcomer);
        (newcomer, active)
    });
    let closed: Vec<_> = all.iter().map(close_mode).collect();
    let now = Some(CloseMode::Now);
    assert_eq!(closed, [None, now, now, now]);
    let spare = try_admit(&connections, OTHER).unwrap();
    assert_eq!(spare.slot(), ConnectionSlot::Spare);
}

#[tokio::test]
async fn a_connection_that_is_to_close_may_send_the_end_of_its_last_answer() {
    let connections = Connections::new(bounds());
    let start = Instant::now();
    let sweep = |after: Duration| {
        let mut table = connections.lock();
        table.close_overdue(&connections.bounds, start + after);
    };
    let busy = admit_regular(&connections, ADDRESS);
    let idle = admit_regular(&connections, ADDRESS);
    answer_request(&idle);
    let mut request = begin_known_request(&busy);
    connections.close_all();
    sweep(Duration::from_secs(100));
    assert_eq!(close_mode(&idle), Some(CloseMode::Now));
    assert_eq!(close_mode(&busy), Some(CloseMode::Gracefully));
    request.mark_answered();
    drop(request);
    // The close request is long ago, and the response was passed on just now.
    sweep(Duration::from_secs(101));
    sweep(Duration::from_secs(105));
    assert_eq!(close_mode(&busy), Some(CloseMode::Gracefully));
    sweep(Duration::from_secs(106));
    assert_eq!(close_mode(&busy), Some(CloseMode::Now));
}

#[tokio::test]
async fn when_all_are_busy_a_newcomer_gets_a_spare_place() {
    let connections = Connections::new(bounds());
    let busy: Vec<Admission> = (0..4)
        .map(|_| admit_regular(&connections, ADDRESS))
        .collect();
    let requests: Vec<ActiveRequest> = busy.iter().map(begin_known_request).collect();
    let spare: Vec<Admission> = (0..MAX_SPARE_CONNECTIONS)
        .map(|_| try_admit(&connections, OTHER).unwrap())
        .collect();
    assert!(spare.iter().all(|one| one.slot() == ConnectionSlot::Spare));
    // Spare slots are freed like regular ones.
    let next = try_admit(&connections, OTHER).unwrap();
    assert_eq!(next.slot(), ConnectionSlot::Spare);
    assert_eq!(close_mode(&spare[0]), Some(CloseMode::Now));
    assert_eq!(close_mode(&spare[1]), None);
    drop(requests);
    drop(admit_regular(&connections, OTHER));
}

#[tokio::test]
async fn an_address_with_too_many_evicts_its_own() {
    let connections = Connections::new(ConnectionBounds {
        per_address: 2,
        ..bounds()
    });
    let first = admit_regular(&connections, ADDRESS);
    let second = admit_regular(&connections, ADDRESS);
    let others = admit_regular(&connections, OTHER);
    let third = admit_regular(&connections, ADDRESS);
    assert_eq!(close_mode(&first), Some(CloseMode::Now));
    let _second = begin_known_request(&second);
    let _third = begin_known_request(&third);
    let fourth = try_admit(&connections, ADDRESS).unwrap();
    assert_eq!(fourth.slot(), ConnectionSlot::Spare);
    assert_eq!(close_mode(&others), None);
}

#[tokio::test]
async fn closed_connections_that_do_not_go_away_stop_more_from_coming() {
    let connections = Connections::new(bounds());
    let mut stuck: Vec<Admission> = Vec::new();
    while let Some(admission) = try_admit(&connections, ADDRESS) {
        stuck.push(admission);
        assert!(stuck.len() <= 4 + MAX_CLOSING_CONNECTIONS);
    }
    assert_eq!(stuck.len(), 4 + MAX_CLOSING_CONNECTIONS);
    stuck.remove(0);
    assert!(try_admit(&connections, ADDRESS).is_some());
}

#[tokio::test]
async fn connections_are_closed_when_their_time_is_up() {
    let connections = Connections::new(bounds());
    let sweep = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    let unused = admit_regular(&connections, ADDRESS);
    let idle = admit_regular(&connections, ADDRESS);
    answer_request(&idle);
    let busy = admit_regular(&connections, ADDRESS);
    let _request = busy.state().begin_request().unwrap();
    let unread = admit_regular(&connections, ADDRESS);
    let mut answer = unread.state().begin_request().unwrap();
    answer.on_chunk_sent();
    sweep(10);
    assert_eq!(close_mode(&unused), None);
    sweep(16);
    assert_eq!(close_mode(&unused), Some(CloseMode::Now));
    assert_eq!(close_mode(&idle), None);
    // Sending more requests and abandoning them is not reading.
    unread.state().begin_request().unwrap().on_chunk_sent();
    let mut more = unread.state().begin_request().unwrap();
    more.on_chunk_sent();
    sweep(10 + 76);
    assert_eq!(close_mode(&idle), Some(CloseMode::Gracefully));
    assert_eq!(close_mode(&unread), Some(CloseMode::Now));
    sweep(10 + 76 + 6);
    assert_eq!(close_mode(&idle), Some(CloseMode::Now));
    sweep(3_600);
    assert_eq!(close_mode(&busy), None);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_evicted_and_one_that_waits_for_us_is_not() {
    let connections = Connections::new(bounds());
    let all: Vec<Admission> = (0..4)
        .map(|_| admit_regular(&connections, ADDRESS))
        .collect();
    let mut answers: Vec<ActiveRequest> = all.iter().map(begin_known_request).collect();
    let sweep = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    let evict = |after: u64| {
        let now = Instant::now() + Duration::from_secs(after);
        connections.lock().evict(ConnectionSlot::Regular, now)
    };
    answers[1].on_chunk_sent();
    answers[2].on_chunk_sent();
    sweep(0);
    answers[2].on_chunk_read();
    answers[2].on_chunk_sent();
    assert!(!evict(1), "it may be reading");
    assert!(evict(6));
    let closed: Vec<_> = all.iter().map(close_mode).collect();
    assert_eq!(closed, [None, Some(CloseMode::Now), None, None]);
    assert!(!evict(6), "the other has read something since");
}

#[tokio::test]
async fn a_long_wait_for_a_model_does_not_count_as_unread() {
    let connections = Connections::new(bounds());
    let connection = admit_regular(&connections, ADDRESS);
    let mut answer = connection.state().begin_request().unwrap();
    let now = Instant::now();
    let sweep = |after: u64| {
        let now = now + Duration::from_secs(after);
        connections.lock().close_overdue(&connections.bounds, now);
    };
    sweep(1);
    sweep(600);
    answer.on_chunk_sent();
    sweep(601);
    assert_eq!(close_mode(&connection), None);
    sweep(602 + 75);
    assert_eq!(close_mode(&connection), Some(CloseMode::Now));
}

#[tokio::test]
async fn places_are_free_again_however_a_connection_ends() {
    let connections = Connections::new(bounds());
    for _ in 0..100 {
        let all: Vec<Admission> = (0..10)
            .map(|_| admit_regular(&connections, ADDRESS))
            .collect();
        drop(all);
    }
    let mut table = connections.lock();
    assert_eq!(table.count(ConnectionSlot::Regular), 0);
    assert_eq!(table.closing(), 0);
}
