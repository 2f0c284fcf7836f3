//! Who may run now: a bound on how many at once, a bounded line behind it, and turns
//! between owners, so that one who asks a thousand times does not delay the others.

use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The line.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    state: Arc<Mutex<State>>,
    most_running: usize,
    most_waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    /// Owners that wait, in the order of their next turn, each with its own line.
    lines: VecDeque<(String, VecDeque<oneshot::Sender<Turn>>)>,
}

/// Leave to run; gives way to the next when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` once the turn has been passed on.
    queue: Option<Queue>,
}

impl Queue {
    pub(crate) fn new(most_running: usize, most_waiting: usize) -> Self {
        Self {
            state: Arc::default(),
            most_running,
            most_waiting,
        }
    }

    /// Waits for a turn, or is told at once that too many wait.
    pub(crate) async fn turn(&self, owner: &str) -> Result<Turn, Error> {
        let receiver = {
            let mut state = self.lock();
            if state.running < self.most_running {
                state.running += 1;
                return Ok(Turn {
                    queue: Some(self.clone()),
                });
            }
            if state.waiting >= self.most_waiting {
                return Err(Error::Busy {
                    running: state.running,
                    waiting: state.waiting,
                });
            }
            state.join(owner)
        };
        receiver.await.map_err(|_| Error::Busy {
            running: 0,
            waiting: 0,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many run, and how many wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.running, state.waiting)
    }
}

impl State {
    fn join(&mut self, owner: &str) -> oneshot::Receiver<Turn> {
        let (sender, receiver) = oneshot::channel();
        self.waiting += 1;
        match self.lines.iter_mut().find(|(name, _)| name == owner) {
            Some((_, line)) => line.push_back(sender),
            None => self
                .lines
                .push_back((owner.to_owned(), VecDeque::from([sender]))),
        }
        receiver
    }

    /// The first in the line of the owner whose turn it is, who then goes to the end.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (owner, mut line) = self.lines.pop_front()?;
        let next = line.pop_front();
        if !line.is_empty() {
            self.lines.push_back((owner, line));
        }
        self.waiting -= usize::from(next.is_some());
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else {
            return;
        };
        loop {
            let next = queue.lock().next();
            let Some(next) = next else {
                queue.lock().running -= 1;
                return;
            };
            // It passes on, unless the one who waited has left meanwhile.
            match next.send(Turn {
                queue: Some(queue.clone()),
            }) {
                Ok(()) => return,
                Err(mut returned) => returned.queue = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_more_than_the_line_holds_is_told_busy() {
        let queue = Queue::new(1, 1);
        let first = queue.turn("a").await.unwrap();
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.turn("a").await.map(drop) }
        });
        while queue.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.turn("a").await.unwrap_err().code(), "busy");
        drop(first);
        waiting.await.unwrap().unwrap();
        assert_eq!(queue.load(), (0, 0));
    }

    #[tokio::test]
    async fn owners_take_turns_however_many_each_has_waiting() {
        let queue = Queue::new(1, 10);
        let first = queue.turn("x").await.unwrap();
        let (order, mut served) = tokio::sync::mpsc::unbounded_channel();
        for (place, owner) in ["a", "a", "a", "b"].into_iter().enumerate() {
            let (queue, order) = (queue.clone(), order.clone());
            let waiting = queue.clone();
            tokio::spawn(async move {
                let turn = queue.turn(owner).await.unwrap();
                order.send(owner).unwrap();
                drop(turn);
            });
            while waiting.load().1 <= place {
                tokio::task::yield_now().await;
            }
        }
        drop(order);
        drop(first);
        let mut seen = Vec::new();
        while let Some(owner) = served.recv().await {
            seen.push(owner);
        }
        assert_eq!(seen, ["a", "b", "a", "a"]);
    }

    #[tokio::test]
    async fn one_who_leaves_the_line_gives_the_turn_on() {
        let queue = Queue::new(1, 4);
        let first = queue.turn("a").await.unwrap();
        let mut left = Box::pin(queue.turn("b"));
        assert!(futures_poll_once(&mut left).await.is_none());
        drop(left);
        drop(first);
        drop(queue.turn("c").await.unwrap());
        assert_eq!(queue.load(), (0, 0));
    }

    async fn futures_poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
