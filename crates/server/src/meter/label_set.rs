//! Labels of metrics whose values come from clients: only some get series of their own.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The label of all others. Nothing is named so.
pub(super) const OTHER: &str = "(other)";

/// A bounded number of labels, the first ones since the start of the server.
pub(super) struct LabelSet {
    max: usize,
    known: Mutex<Option<HashSet<String>>>,
}

impl LabelSet {
    pub(super) const fn new(max: usize) -> LabelSet {
        LabelSet {
            max,
            known: Mutex::new(None),
        }
    }

    /// The label of a name. A name that is not `real` gets no label that others could need:
    /// requests with invented names must not use them up.
    pub(super) fn label(&self, name: &str, real: bool) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if known.contains(name) {
            return name.to_owned();
        }
        if real && known.len() < self.max {
            known.insert(name.to_owned());
            return name.to_owned();
        }
        OTHER.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_names_gets_a_bounded_number_of_labels() {
        let set = LabelSet::new(10);
        let labels: HashSet<String> = (0..100)
            .map(|number| set.label(&format!("name-{number}"), true))
            .collect();
        assert_eq!(labels.len(), 11);
        assert!(labels.contains(OTHER));
    }

    #[test]
    fn invented_names_take_no_labels() {
        let set = LabelSet::new(2);
        assert_eq!(set.label("invented", false), OTHER);
        assert_eq!(set.label("one", true), "one");
        assert_eq!(set.label("one", false), "one");
        assert_eq!(set.label("two", true), "two");
        assert_eq!(set.label("three", true), OTHER);
    }
}
