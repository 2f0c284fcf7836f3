//! What `auto` offered to conversations, in memory: most requests name no container in which that
//! is recorded, but they repeat all that was written before. So the texts of users name their
//! conversation, and its offer stays the same when other skills are stored meanwhile.
//!
//! It is a memory of this process only, and it forgets: a conversation is then routed anew, which
//! gives the same offer as long as the stored skills are the same. When it is full, the tenant that
//! has most of it loses the conversation that was not used for longest. Offers are mere texts here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_skill::Digest;
use prowess_store::TenantId;

/// Conversations that are remembered.
const MAX_CONVERSATIONS: usize = 1_000;
/// Bytes of their offers together.
const MAX_BYTES: usize = 16 << 20;
/// Texts that name a conversation.
const MAX_TEXTS: usize = 64;
/// After this time a conversation is routed anew: vendors have forgotten its prompt, and requests
/// that always begin with the same texts, such as examples, are offered what is stored now.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// The latest conversations, the latest first.
#[derive(Debug, Default)]
pub(crate) struct OfferMemory(Mutex<VecDeque<RememberedOffer>>);

#[derive(Debug)]
struct RememberedOffer {
    tenant: TenantId,
    /// For each beginning of the conversation a digest: of its first text, of the first two.
    texts: Vec<String>,
    offer: String,
    routed_at: Instant,
}

/// What was offered to a conversation with the same first text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EarlierOffer {
    /// How many of the texts of both are the same.
    pub(crate) common_texts: usize,
    pub(crate) offer: String,
    /// When the conversation was first routed.
    pub(crate) routed_at: Instant,
}

/// Names a conversation. `opened` is what decides about its offer besides its texts.
pub(crate) fn conversation_keys<'a>(
    opened: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut before = Digest::from_content(opened.as_bytes()).hex();
    let keys = texts.take(MAX_TEXTS).map(|text| {
        before = Digest::from_content(format!("{before}\n{text}").as_bytes()).hex();
        before.clone()
    });
    keys.collect()
}

impl OfferMemory {
    /// What is known of a conversation at a time.
    pub(crate) fn find(&self, texts: &[String], now: Instant) -> Option<EarlierOffer> {
        let first = texts.first()?;
        let mut all = self.lock();
        let is_same = |known: &RememberedOffer| known.texts.first() == Some(first);
        let at = all.iter().position(is_same)?;
        let known = all.remove(at)?;
        if now.saturating_duration_since(known.routed_at) > MAX_AGE {
            return None;
        }
        let pairs = known.texts.iter().zip(texts);
        let found = EarlierOffer {
            common_texts: pairs.take_while(|(known, own)| known == own).count(),
            offer: known.offer.clone(),
            routed_at: known.routed_at,
        };
        all.push_front(known);
        Some(found)
    }

    /// Remembers an offer instead of that of a conversation with the same first text.
    pub(crate) fn remember(
        &self,
        tenant: &TenantId,
        texts: Vec<String>,
        offer: String,
        routed_at: Instant,
    ) {
        if texts.is_empty() {
            return;
        }
        let mut all = self.lock();
        all.retain(|known| known.texts.first() != texts.first());
        all.push_front(RememberedOffer {
            tenant: tenant.clone(),
            texts,
            offer,
            routed_at,
        });
        while all.len() > MAX_CONVERSATIONS {
            forget_one(&mut all, |_| 1);
        }
        while all.iter().map(|known| known.offer.len()).sum::<usize>() > MAX_BYTES {
            forget_one(&mut all, |known| known.offer.len());
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<RememberedOffer>> {
        // What it guards is a cache: whatever is left of it is true.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the last conversation of the tenant that has most of what counts.
fn forget_one(all: &mut VecDeque<RememberedOffer>, counts: impl Fn(&RememberedOffer) -> usize) {
    let mut shares: HashMap<&TenantId, (usize, usize)> = HashMap::new();
    for (place, known) in all.iter().enumerate() {
        let (share, last) = shares.entry(&known.tenant).or_default();
        *share += counts(known);
        *last = place;
    }
    if let Some((_, last)) = shares.into_values().max() {
        all.remove(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    fn keys(texts: &[&str]) -> Vec<String> {
        conversation_keys("tenant", texts.iter().copied())
    }

    /// How many texts are the same, and the offer.
    fn found(memory: &OfferMemory, texts: &[&str], now: Instant) -> Option<(usize, String)> {
        let found = memory.find(&keys(texts), now)?;
        Some((found.common_texts, found.offer))
    }

    #[test]
    fn a_conversation_is_found_by_its_beginning() {
        let (memory, now) = (OfferMemory::default(), Instant::now());
        memory.remember(&tenant("one"), keys(&["a", "b"]), "offer".to_owned(), now);
        for (texts, common) in [
            (&["a", "b"][..], 2),
            (&["a", "b", "c"], 2),
            (&["a"], 1),
            (&["a", "c", "b"], 1),
        ] {
            let offer = Some((common, "offer".to_owned()));
            assert_eq!(found(&memory, texts, now), offer, "{texts:?}");
        }
        for texts in [&[][..], &["b"], &["b", "a"], &["ab"]] {
            assert_eq!(found(&memory, texts, now), None, "{texts:?}");
        }
        let of_another = conversation_keys("other", ["a", "b"].into_iter());
        assert_eq!(memory.find(&of_another, now), None);
        memory.remember(&tenant("one"), keys(&["a"]), "another".to_owned(), now);
        let offer = Some((1, "another".to_owned()));
        assert_eq!(found(&memory, &["a", "b"], now), offer);
    }

    #[test]
    fn it_forgets_what_is_old_and_what_was_not_used_for_longest() {
        let (memory, now) = (OfferMemory::default(), Instant::now());
        memory.remember(&tenant("one"), keys(&["old"]), String::new(), now);
        assert!(found(&memory, &["old"], now + MAX_AGE).is_some());
        let later = now + MAX_AGE + Duration::from_secs(1);
        assert!(found(&memory, &["old"], later).is_none());
        for number in 0..MAX_CONVERSATIONS {
            memory.remember(
                &tenant("one"),
                keys(&[number.to_string().as_str()]),
                String::new(),
                now,
            );
        }
        assert!(found(&memory, &["0"], now).is_some());
        memory.remember(&tenant("one"), keys(&["new"]), "x".repeat(MAX_BYTES), now);
        assert!(found(&memory, &["0"], now).is_some());
        assert!(found(&memory, &["1"], now).is_none());
        memory.remember(&tenant("one"), keys(&["newer"]), "x".to_owned(), now);
        assert!(found(&memory, &["new"], now).is_none());
        memory.remember(
            &tenant("one"),
            keys(&["huge"]),
            "x".repeat(MAX_BYTES + 1),
            now,
        );
        assert!(found(&memory, &["huge"], now).is_none());
    }

    #[test]
    fn a_tenant_with_many_conversations_displaces_its_own_only() {
        let (memory, now) = (OfferMemory::default(), Instant::now());
        memory.remember(&tenant("quiet"), keys(&["quiet"]), String::new(), now);
        for number in 0..2 * MAX_CONVERSATIONS {
            let text = number.to_string();
            memory.remember(&tenant("one"), keys(&[text.as_str()]), String::new(), now);
        }
        for number in 0..9 {
            let text = format!("long {number}");
            let offer = "x".repeat(MAX_BYTES / 4);
            memory.remember(&tenant("one"), keys(&[text.as_str()]), offer, now);
        }
        assert!(found(&memory, &["quiet"], now).is_some());
        assert!(found(&memory, &["0"], now).is_none());
        assert!(found(&memory, &["long 8"], now).is_some());
    }
}
