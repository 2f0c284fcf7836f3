//! Keys of skills and packages that this worker has used most recently, for its beats.

use std::collections::VecDeque;

/// Keys in a beat.
const MAX_KEYS: usize = 200;

/// Keys, the most recently used first.
#[derive(Debug, Default)]
pub(super) struct RecentKeys(VecDeque<String>);

impl RecentKeys {
    /// A key was used.
    pub(super) fn add(&mut self, key: String) {
        if self.0.front() == Some(&key) {
            return;
        }
        self.0.retain(|known| *known != key);
        self.0.push_front(key);
        self.0.truncate(MAX_KEYS);
    }

    /// All keys.
    pub(super) fn list(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recent_keys_stay() {
        let mut keys = RecentKeys::default();
        for key in 0..300 {
            keys.add(key.to_string());
        }
        keys.add("150".into());
        let list = keys.list();
        assert_eq!(list.len(), MAX_KEYS);
        assert_eq!(list.first().map(String::as_str), Some("150"));
        assert_eq!(list.get(1).map(String::as_str), Some("299"));
        assert_eq!(list.iter().filter(|key| *key == "150").count(), 1);
    }
}
