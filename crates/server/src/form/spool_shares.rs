//! The temporary space that uploads of files use until they are stored. A tenant with several
//! uploads has half of it at most, so that there is some left for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_store::TenantId;

/// Bytes of all uploads in progress, by tenant. Clones share them.
#[derive(Debug, Default, Clone)]
pub(crate) struct SpoolShares(Arc<Mutex<HashMap<TenantId, u64>>>);

/// The bytes of one upload, which count until this is dropped.
#[derive(Debug)]
pub(crate) struct SpoolShare {
    shares: SpoolShares,
    tenant: TenantId,
    bytes: u64,
}

/// A tenant's uploads would use more than half of the space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMuchSpooled;

impl SpoolShares {
    pub(crate) fn begin(&self, tenant: &TenantId) -> SpoolShare {
        SpoolShare {
            shares: self.clone(),
            tenant: tenant.clone(),
            bytes: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpoolShare {
    /// Counts bytes before they are written where `free` bytes are left. One upload alone may use
    /// all of them: it has a limit of its own.
    pub(crate) fn grow(&mut self, bytes: u64, free: Option<u64>) -> Result<(), TooMuchSpooled> {
        let mut all = self.shares.lock();
        let total: u64 = all.values().sum();
        let own = all.entry(self.tenant.clone()).or_default();
        let is_alone = *own == self.bytes;
        let half = free.map(|free| free.saturating_add(total) / 2);
        if !is_alone && half.is_some_and(|half| own.saturating_add(bytes) > half) {
            return Err(TooMuchSpooled);
        }
        *own += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for SpoolShare {
    fn drop(&mut self) {
        let mut all = self.shares.lock();
        if let Some(own) = all.get_mut(&self.tenant) {
            *own = own.saturating_sub(self.bytes);
        }
        all.retain(|_, bytes| *bytes > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_uploads_of_a_tenant_leave_half_of_the_space() {
        let shares = SpoolShares::default();
        let (one, other) = (
            TenantId::new("one").unwrap(),
            TenantId::new("other").unwrap(),
        );
        let (mut first, mut second) = (shares.begin(&one), shares.begin(&one));
        assert_eq!(first.grow(40, Some(100)), Ok(()));
        // 100 in all, of which 40 are used.
        assert_eq!(second.grow(10, Some(60)), Ok(()));
        assert_eq!(second.grow(1, Some(50)), Err(TooMuchSpooled));
        assert_eq!(
            second.grow(1, None),
            Ok(()),
            "nobody knows how much is free"
        );
        let mut third = shares.begin(&other);
        assert_eq!(third.grow(49, Some(49)), Ok(()));
        drop(first);
        assert_eq!(second.grow(30, Some(40)), Ok(()), "it is alone");
        drop((second, third));
        assert!(shares.lock().is_empty());
    }
}
