//! Skills that were checked and wait to be published: a browser sends its files once, and
//! decides after it has seen what the checks say. Bounded per tenant and in all; knows no page.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

/// How long a skill waits.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Skills of one tenant, and their bytes. The oldest make room for new ones.
const MAX_OWN: usize = 40;
const MAX_OWN_BYTES: usize = 64 << 20;
/// Bytes of all tenants. When they are used up, nobody's are dropped for another's.
const MAX_BYTES: usize = 256 << 20;

/// A skill that waits.
#[derive(Debug, Clone)]
pub(crate) struct PendingUpload {
    pub(crate) name: String,
    /// The skill that it becomes a version of; none for a new one.
    pub(crate) skill_id: Option<String>,
    /// Its files.
    pub(crate) zip: Bytes,
}

/// All skills that wait, by id.
#[derive(Default)]
pub(crate) struct PendingUploads(Mutex<HashMap<String, Entry>>);

struct Entry {
    /// None: the default tenant, of the operator.
    tenant: Option<String>,
    owner: String,
    since: Instant,
    upload: PendingUpload,
}

impl PendingUploads {
    /// Keeps a skill for its visitor; returns its id, or `None` if there is no room.
    pub(crate) fn add(
        &self,
        tenant: Option<&str>,
        owner: &str,
        upload: PendingUpload,
    ) -> Option<String> {
        self.add_at(tenant, owner, upload, Instant::now())
    }

    fn add_at(
        &self,
        tenant: Option<&str>,
        owner: &str,
        upload: PendingUpload,
        now: Instant,
    ) -> Option<String> {
        let size = upload.zip.len();
        let id = new_id()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, entry| now.duration_since(entry.since) < LIFETIME);
        while let Some(oldest) = oldest_of_full(&all, tenant, size) {
            all.remove(&oldest);
        }
        let bytes: usize = all.values().map(|entry| entry.upload.zip.len()).sum();
        if size > MAX_OWN_BYTES || bytes + size > MAX_BYTES {
            return None;
        }
        let entry = Entry {
            tenant: tenant.map(str::to_owned),
            owner: owner.to_owned(),
            since: now,
            upload,
        };
        all.insert(id.clone(), entry);
        Some(id)
    }

    /// A skill of this visitor. It stays until it is removed, so that a failed attempt can be
    /// repeated.
    pub(crate) fn get(&self, owner: &str, id: &str) -> Option<PendingUpload> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get(id).filter(|entry| entry.owner == owner)?;
        (entry.since.elapsed() < LIFETIME).then(|| entry.upload.clone())
    }

    /// Forgets a skill of this visitor.
    pub(crate) fn remove(&self, owner: &str, id: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(id).is_some_and(|entry| entry.owner == owner) {
            all.remove(id);
        }
    }
}

/// The tenant's oldest skill, if another one of this size is too much.
fn oldest_of_full(
    all: &HashMap<String, Entry>,
    tenant: Option<&str>,
    size: usize,
) -> Option<String> {
    let own: Vec<_> = all
        .iter()
        .filter(|(_, entry)| entry.tenant.as_deref() == tenant)
        .collect();
    let bytes: usize = own.iter().map(|(_, entry)| entry.upload.zip.len()).sum();
    if own.len() < MAX_OWN && bytes + size <= MAX_OWN_BYTES {
        return None;
    }
    let oldest = own.into_iter().min_by_key(|(_, entry)| entry.since);
    oldest.map(|(id, _)| id.clone())
}

/// Not to be guessed; and never in an archive, so that it can divide a form.
fn new_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(size: usize) -> PendingUpload {
        PendingUpload {
            name: "a".to_owned(),
            skill_id: None,
            zip: Bytes::from(vec![0; size]),
        }
    }

    #[test]
    fn a_visitor_sees_their_own_only_and_not_for_ever() {
        let pending = PendingUploads::default();
        let id = pending.add(Some("a"), "one", upload(5)).unwrap();
        assert!(pending.get("one", &id).is_some());
        assert!(pending.get("other", &id).is_none());
        pending.remove("other", &id);
        assert!(pending.get("one", &id).is_some());
        pending.remove("one", &id);
        assert!(pending.get("one", &id).is_none());
        let now = Instant::now();
        let id = pending.add_at(Some("a"), "one", upload(5), now).unwrap();
        pending
            .add_at(Some("b"), "other", upload(5), now + LIFETIME)
            .unwrap();
        assert!(pending.get("one", &id).is_none());
    }

    #[test]
    fn a_full_tenant_replaces_its_own_and_a_full_table_refuses() {
        let pending = PendingUploads::default();
        let half = MAX_OWN_BYTES / 2;
        let first = pending.add(Some("a"), "one", upload(half)).unwrap();
        let second = pending.add(Some("a"), "one", upload(half)).unwrap();
        // Another visitor of the same tenant has no share of their own.
        let third = pending.add(Some("a"), "two", upload(half)).unwrap();
        assert!(pending.get("one", &first).is_none());
        assert!(pending.get("one", &second).is_some() && pending.get("two", &third).is_some());
        for owner in ["b", "c", "d"] {
            pending
                .add(Some(owner), "x", upload(MAX_OWN_BYTES))
                .unwrap();
        }
        assert!(pending.add(Some("e"), "x", upload(1)).is_none());
        assert!(pending.get("b", &second).is_none());
        assert!(pending.get("one", &second).is_some());
    }
}
