//! Pictures of pages that were drawn, so that looking again costs nothing. A tenant has a share
//! of the bytes; when all of them are used, the tenant with most makes room.

use std::collections::{HashMap, VecDeque};

use prowess_engine::PdfPage;
use prowess_skill::Digest;
use prowess_store::TenantId;

/// Bytes of all pictures, and of one tenant's.
const MAX_BYTES: usize = 64 << 20;
const MAX_TENANT_BYTES: usize = 16 << 20;
/// What an entry takes besides its picture, at most.
const ENTRY_BYTES: usize = 512;

/// A page of a file. The same file of another tenant is another one: who has drawn what is
/// nobody else's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PictureKey {
    pub(super) tenant: TenantId,
    pub(super) digest: Digest,
    pub(super) number: u32,
}

/// Pictures by tenant.
#[derive(Default)]
pub(super) struct PictureCache {
    tenants: HashMap<TenantId, TenantPictures>,
    bytes: usize,
}

/// The pictures of one tenant, the most recently used first.
#[derive(Default)]
struct TenantPictures {
    pictures: VecDeque<(PictureKey, PdfPage)>,
    bytes: usize,
}

impl PictureCache {
    pub(super) fn get(&mut self, key: &PictureKey) -> Option<PdfPage> {
        let own = &mut self.tenants.get_mut(&key.tenant)?.pictures;
        let at = own.iter().position(|(known, _)| known == key)?;
        let found = own.remove(at)?;
        let page = found.1.clone();
        own.push_front(found);
        Some(page)
    }

    pub(super) fn insert(&mut self, key: PictureKey, page: PdfPage) {
        let size = picture_bytes(&page);
        if size > MAX_TENANT_BYTES || self.get(&key).is_some() {
            return;
        }
        let tenant = key.tenant.clone();
        while self.tenant_bytes(&tenant) + size > MAX_TENANT_BYTES {
            self.remove_oldest(&tenant);
        }
        while self.bytes + size > MAX_BYTES {
            let most = self.tenants.iter().max_by_key(|(_, own)| own.bytes);
            let Some(most) = most.map(|(tenant, _)| tenant.clone()) else {
                return;
            };
            self.remove_oldest(&most);
        }
        let own = self.tenants.entry(tenant).or_default();
        own.pictures.push_front((key, page));
        own.bytes += size;
        self.bytes += size;
    }

    fn tenant_bytes(&self, tenant: &TenantId) -> usize {
        self.tenants.get(tenant).map_or(0, |own| own.bytes)
    }

    /// Removes what a tenant has not used for longest.
    fn remove_oldest(&mut self, tenant: &TenantId) {
        let Some(own) = self.tenants.get_mut(tenant) else {
            return;
        };
        if let Some((_, page)) = own.pictures.pop_back() {
            let size = picture_bytes(&page);
            own.bytes -= size;
            self.bytes -= size;
        }
        if own.pictures.is_empty() {
            self.tenants.remove(tenant);
        }
    }
}

fn picture_bytes(page: &PdfPage) -> usize {
    page.png.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const MIB: usize = 1 << 20;

    fn key(tenant: &str, number: u32) -> PictureKey {
        PictureKey {
            tenant: TenantId::new(tenant).unwrap(),
            digest: Digest::from_content(b"%PDF-"),
            number,
        }
    }

    fn page(bytes: usize) -> PdfPage {
        PdfPage {
            png: Bytes::from(vec![0; bytes]),
            pages: 9,
        }
    }

    #[test]
    fn a_tenant_loses_what_it_has_not_used_for_longest() {
        let mut cache = PictureCache::default();
        for number in 1..=3 {
            cache.insert(key("a", number), page(5 * MIB));
        }
        assert!(cache.get(&key("a", 1)).is_some());
        cache.insert(key("a", 4), page(5 * MIB));
        assert!(cache.get(&key("a", 1)).is_some());
        assert!(cache.get(&key("a", 2)).is_none());
        // The same page of another tenant's file is not there.
        assert!(cache.get(&key("b", 1)).is_none());
    }

    #[test]
    fn one_tenant_with_many_pictures_takes_none_from_others() {
        let mut cache = PictureCache::default();
        cache.insert(key("small", 1), page(MIB));
        for tenant in ["a", "b", "c", "d", "e"] {
            for number in 0..40 {
                cache.insert(key(tenant, number), page(3 * MIB));
            }
        }
        assert!(cache.get(&key("small", 1)).is_some());
        assert!(cache.bytes <= MAX_BYTES, "{}", cache.bytes);
        let counted: usize = cache.tenants.values().map(|own| own.bytes).sum();
        assert_eq!(counted, cache.bytes);
        assert!(cache.get(&key("e", 39)).is_some());
        assert!(cache.get(&key("a", 0)).is_none());
    }
}
