//! Order, limits and displacement; no test depends on time.

use super::*;
use std::pin::Pin;
use std::task::Poll;

type Waits<'a> = Pin<Box<dyn Future<Output = PermitResult> + Send + 'a>>;

fn queue(running: usize, waiting: usize) -> Queue {
    Queue::with(QueueLimits {
        running,
        waiting,
        running_per_owner: running,
        waiting_per_owner: waiting,
    })
}

/// Polls a future once.
async fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    // The runtime limits how many ready events a task may see before it yields.
    tokio::task::yield_now().await;
    std::future::poll_fn(|context| {
        Poll::Ready(match Pin::new(&mut *future).poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

/// A waiter that does not get a permit at once.
async fn waiting<'a>(queue: &'a Queue, owner: &'a str) -> Waits<'a> {
    let mut waits: Waits<'a> = Box::pin(queue.acquire(owner));
    assert!(poll(&mut waits).await.is_none(), "{owner} must wait");
    waits
}

fn scope(answer: Option<PermitResult>) -> Option<BusyScope> {
    match answer {
        Some(Err(Error::Busy {
            scope, retry_after, ..
        })) => {
            assert!(retry_after >= Duration::from_secs(1));
            Some(scope)
        }
        _ => None,
    }
}

#[tokio::test]
async fn one_more_than_the_queue_holds_is_refused_as_busy() {
    let queue = queue(1, 1);
    let first = queue.acquire("a").await.unwrap();
    let mut second = waiting(&queue, "a").await;
    let refused = queue.acquire("a").await.unwrap_err();
    assert_eq!(refused.code(), "busy");
    drop(first);
    drop(poll(&mut second).await.unwrap().unwrap());
    assert_eq!(queue.load(), (0, 0));
}

#[tokio::test]
async fn owners_take_turns_however_many_each_has_waiting() {
    let queue = queue(1, 10);
    let mut running = Some(queue.acquire("x").await.unwrap());
    let mut line = Vec::new();
    for owner in ["a", "a", "a", "b"] {
        line.push((owner, waiting(&queue, owner).await));
    }
    let mut seen = Vec::new();
    while !line.is_empty() {
        drop(running.take());
        for place in 0..line.len() {
            if let Some(turn) = poll(&mut line[place].1).await {
                running = Some(turn.unwrap());
                seen.push(line.remove(place).0);
                break;
            }
        }
    }
    assert_eq!(seen, ["a", "b", "a", "a"]);
}

#[tokio::test]
async fn a_tenant_that_builds_packages_has_no_second_turn() {
    let queue = queue(1, 10);
    let running = queue.acquire("\0layers x").await.unwrap();
    assert_eq!(&*running.owner, "x");
    let mut build = waiting(&queue, "\0layers x").await;
    let mut command = waiting(&queue, "x").await;
    let mut victim = waiting(&queue, "v").await;
    drop(running);
    // Neither of the two comes before one who has had none.
    assert!(poll(&mut build).await.is_none());
    assert!(poll(&mut command).await.is_none());
    drop(poll(&mut victim).await.unwrap().unwrap());
    drop(poll(&mut build).await.unwrap().unwrap());
    drop(poll(&mut command).await.unwrap().unwrap());
}

#[tokio::test]
async fn one_who_leaves_the_line_gives_place_and_turn_on() {
    let queue = queue(1, 1);
    let first = queue.acquire("a").await.unwrap();
    let left = waiting(&queue, "b").await;
    assert_eq!(queue.load(), (1, 1));
    drop(left);
    assert_eq!(
        queue.load(),
        (1, 0),
        "its place in the line is free at once"
    );
    let granted = waiting(&queue, "b").await;
    drop(first);
    assert_eq!(queue.load(), (1, 0));
    // Gone after the turn was given to it, and before it looked.
    drop(granted);
    drop(queue.acquire("c").await.unwrap());
    assert_eq!(queue.load(), (0, 0));
}

#[tokio::test]
async fn a_tenant_that_fills_the_line_makes_place_for_another_at_once() {
    let queue = queue(1, 3);
    let running = queue.acquire("greedy").await.unwrap();
    let mut line = Vec::new();
    for _ in 0..3 {
        line.push(waiting(&queue, "greedy").await);
    }
    assert_eq!(
        scope(Some(queue.acquire("greedy").await)),
        Some(BusyScope::Tenant)
    );
    let mut victim = waiting(&queue, "victim").await;
    let mut last = line.pop().unwrap();
    assert_eq!(scope(poll(&mut last).await), Some(BusyScope::Server));
    assert!(poll(&mut line[0]).await.is_none() && poll(&mut line[1]).await.is_none());
    drop(running);
    // Before those of one who has just run.
    drop(poll(&mut victim).await.unwrap().unwrap());
    drop(poll(&mut line[0]).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_line_full_of_many_owners_is_the_servers_limit() {
    let queue = queue(1, 3);
    let _running = queue.acquire("x").await.unwrap();
    let mut line = Vec::new();
    for owner in ["a", "b", "c"] {
        line.push(waiting(&queue, owner).await);
    }
    // Nobody has more than one: a newcomer has no better right.
    assert_eq!(
        scope(Some(queue.acquire("d").await)),
        Some(BusyScope::Server)
    );
    for one in &mut line {
        assert!(poll(one).await.is_none());
    }
}

#[tokio::test]
async fn one_owner_never_has_all_places_and_its_line_is_bounded() {
    let bounds = QueueLimits {
        running: 4,
        waiting: 10,
        running_per_owner: 3,
        waiting_per_owner: 2,
    };
    let queue = Queue::with(bounds);
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(queue.acquire("greedy").await.unwrap());
    }
    let mut first = waiting(&queue, "greedy").await;
    let _second = waiting(&queue, "greedy").await;
    assert_eq!(
        scope(Some(queue.acquire("greedy").await)),
        Some(BusyScope::Tenant)
    );
    let victim = queue.acquire("victim").await.unwrap();
    assert_eq!(queue.load(), (4, 2));
    // The place that the other leaves is not for one who has its share.
    drop(victim);
    assert!(poll(&mut first).await.is_none());
    assert_eq!(queue.load(), (3, 2));
    running.pop();
    running.push(poll(&mut first).await.unwrap().unwrap());
    drop(queue.acquire("victim").await.unwrap());
}

#[tokio::test]
async fn thousands_of_lines_are_served_in_turn_and_leave_nothing() {
    let queue = queue(2, 10_000);
    let running = [
        queue.acquire("a").await.unwrap(),
        queue.acquire("b").await.unwrap(),
    ];
    let names: Vec<String> = (0..2_000).map(|number| format!("t{number}")).collect();
    let mut line = Vec::new();
    for _ in 0..3 {
        for name in &names {
            line.push(waiting(&queue, name).await);
        }
    }
    assert_eq!(queue.load(), (2, 6_000));
    drop(running);
    for mut one in line {
        drop(poll(&mut one).await.unwrap().unwrap());
    }
    assert_eq!(queue.load(), (0, 0));
}
