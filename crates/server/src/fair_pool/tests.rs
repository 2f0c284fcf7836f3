//! In any sequence of operations the bounds hold and no permit is lost.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;

const OWNERS: u8 = 4;

type Pending = Pin<Box<dyn Future<Output = Result<PoolPermit<u8>, TooManyWaiting>>>>;

/// The operations so far.
struct Play {
    pool: FairPool<u8>,
    bounds: PoolBounds,
    waiting: Vec<(u8, Pending)>,
    permits: Vec<(u8, PoolPermit<u8>)>,
}

#[derive(Debug, Clone)]
enum Step {
    Acquire(u8),
    GiveUp(usize),
    Release(usize),
    Poll,
}

impl Play {
    fn new(bounds: PoolBounds) -> Play {
        Play {
            pool: FairPool::new(bounds),
            bounds,
            waiting: Vec::new(),
            permits: Vec::new(),
        }
    }

    fn acquire(&mut self, owner: u8) {
        let pool = FairPool(Arc::clone(&self.pool.0));
        let pending: Pending = Box::pin(async move { pool.acquire(&owner).await });
        self.waiting.push((owner, pending));
        self.poll();
    }

    /// Takes every permit that was granted.
    fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for (owner, mut pending) in std::mem::take(&mut self.waiting) {
            match pending.as_mut().poll(&mut context) {
                Poll::Ready(Ok(permit)) => self.permits.push((owner, permit)),
                Poll::Ready(Err(TooManyWaiting)) => {}
                Poll::Pending => self.waiting.push((owner, pending)),
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Acquire(owner) => self.acquire(*owner),
            Step::GiveUp(at) if *at < self.waiting.len() => drop(self.waiting.remove(*at)),
            Step::Release(at) if *at < self.permits.len() => drop(self.permits.remove(*at)),
            Step::Poll => self.poll(),
            Step::GiveUp(_) | Step::Release(_) => {}
        }
    }

    fn held_by(&self, owner: u8) -> usize {
        self.permits.iter().filter(|(o, _)| *o == owner).count()
    }

    /// The bounds hold for what the pool counts, which covers what owners hold.
    fn check(&self) {
        let state = self.pool.0.lock();
        let counted: usize = state.owners.values().map(|account| account.holds).sum();
        assert_eq!(counted + state.free, self.bounds.total);
        assert!(self.permits.len() <= counted);
        for (owner, account) in &state.owners {
            assert!(account.holds <= self.bounds.per_owner);
            assert!(account.waiting.len() <= self.bounds.waiting_per_owner);
            assert!(self.held_by(*owner) <= account.holds);
            let kept_back = state.free == 0 || account.holds == self.bounds.per_owner;
            assert!(
                account.waiting.is_empty() || kept_back,
                "nobody waits in vain"
            );
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..OWNERS).prop_map(Step::Acquire),
        1 => (0..12_usize).prop_map(Step::GiveUp),
        2 => (0..12_usize).prop_map(Step::Release),
        1 => Just(Step::Poll),
    ];
    prop::collection::vec(step, 0..80)
}

fn bounds() -> impl Strategy<Value = PoolBounds> {
    (1..6_usize, 1..6_usize, 0..4_usize).prop_map(|(total, per_owner, waiting_per_owner)| {
        PoolBounds {
            total,
            per_owner,
            waiting_per_owner,
        }
    })
}

proptest! {
    #[test]
    fn bounds_hold_and_no_permit_is_lost(bounds in bounds(), steps in steps()) {
        let mut play = Play::new(bounds);
        for step in &steps {
            play.step(step);
            play.check();
        }
        // Waiters are dropped both before and after they were granted a permit.
        play.waiting.clear();
        play.check();
        play.permits.clear();
        let state = play.pool.0.lock();
        prop_assert_eq!(state.free, bounds.total);
        prop_assert!(state.owners.is_empty(), "nobody is remembered for nothing");
    }

    #[test]
    fn another_owner_gets_the_next_free_permit(
        total in 1..6_usize,
        queue in 1..20_usize,
        release in 0..6_usize,
    ) {
        let mut play = Play::new(PoolBounds { total, per_owner: total, waiting_per_owner: 20 });
        for _ in 0..total + queue {
            play.acquire(0);
        }
        play.acquire(1);
        prop_assert_eq!(play.held_by(0), total);
        drop(play.permits.remove(release % total));
        play.poll();
        play.check();
        prop_assert_eq!(play.held_by(1), 1);
    }
}

#[test]
fn one_owner_never_holds_all_and_waits_in_order() {
    let mut play = Play::new(PoolBounds::half_per_owner(4, 2));
    for _ in 0..6 {
        play.acquire(0);
    }
    assert_eq!(play.held_by(0), 2);
    assert_eq!(play.waiting.len(), 2, "the others were refused");
    play.acquire(1);
    play.acquire(2);
    assert_eq!((play.held_by(1), play.held_by(2)), (1, 1));
    play.permits.remove(0);
    play.poll();
    assert_eq!(play.held_by(0), 2);
    assert_eq!(play.waiting.len(), 1);
}

#[tokio::test]
async fn a_waiter_is_woken_by_a_release_on_another_thread() {
    let pool = FairPool::new(PoolBounds::half_per_owner(1, 1));
    let first = pool.acquire(&"a").await.unwrap();
    let waiting = async { pool.acquire(&"b").await.unwrap() };
    let releasing = tokio::task::spawn_blocking(move || drop(first));
    let (second, released) = tokio::join!(waiting, releasing);
    released.unwrap();
    drop(second);
    assert_eq!(pool.0.lock().free, 1);
}
