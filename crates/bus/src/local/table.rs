//! Who is subscribed to what. Most subscriptions are to one subject, and are found by it.

use std::collections::HashMap;

use tokio::sync::mpsc;

use crate::message::BusMessage;
use crate::subject;

#[derive(Debug, Default)]
pub(super) struct Table {
    next_number: u64,
    by_subject: HashMap<String, Vec<Listener>>,
    by_pattern: Vec<(String, Listener)>,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    sender: mpsc::Sender<BusMessage>,
}

impl Table {
    /// Returns the number by which it can be removed.
    pub(super) fn add(&mut self, pattern: &str, sender: mpsc::Sender<BusMessage>) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let listener = Listener { number, sender };
        if subject::has_wildcard(pattern) {
            self.by_pattern.push((pattern.to_owned(), listener));
        } else {
            let listeners = self.by_subject.entry(pattern.to_owned());
            listeners.or_default().push(listener);
        }
        number
    }

    pub(super) fn remove(&mut self, pattern: &str, number: u64) {
        if let Some(listeners) = self.by_subject.get_mut(pattern) {
            listeners.retain(|listener| listener.number != number);
            if listeners.is_empty() {
                self.by_subject.remove(pattern);
            }
        } else {
            self.by_pattern
                .retain(|(_, listener)| listener.number != number);
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_subject.clear();
        self.by_pattern.clear();
    }

    pub(super) fn matching(
        &self,
        subject: &str,
    ) -> impl Iterator<Item = &mpsc::Sender<BusMessage>> {
        let exact = self.by_subject.get(subject).into_iter().flatten();
        let patterns = self.by_pattern.iter();
        let patterns = patterns.filter(move |(pattern, _)| subject::matches(pattern, subject));
        let all = exact.chain(patterns.map(|(_, listener)| listener));
        all.map(|listener| &listener.sender)
    }
}
