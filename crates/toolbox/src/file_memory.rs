//! Memory for whole files: those that are copied into containers, that the editor shows or changes,
//! and that are read over MCP. Each may have 128 MiB, and any number of calls may need one at once.
//! So they wait until there is memory for them. A tenant has at most half of it, so that no tenant
//! alone makes others wait.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

/// Bytes that are counted as one.
const UNIT_BYTES: u64 = 1 << 10;
/// 512 MiB.
const TOTAL_UNITS: usize = 512 << 10;
const TENANT_UNITS: usize = TOTAL_UNITS / 2;

/// Bytes that a list of the files of a container may take: 50,000 paths of 1 KiB, and the rest.
const LIST_BYTES: u64 = 64 << 20;

/// The memory of this process.
static FILE_MEMORY: LazyLock<FileMemory> = LazyLock::new(FileMemory::default);
/// The memory of lists, which are short and do not wait for files.
static LIST_MEMORY: LazyLock<FileMemory> = LazyLock::new(FileMemory::default);

/// Memory for files, which is counted until this is dropped.
#[derive(Debug)]
pub struct FileMemoryPermit {
    _tenant: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

/// Waits until a tenant may have so many bytes of files in memory. More bytes than its share count
/// as its share. Whoever has memory must not wait for more.
pub async fn reserve_file_memory(tenant: &str, bytes: u64) -> FileMemoryPermit {
    FILE_MEMORY.reserve(tenant, bytes).await
}

/// Waits until a tenant may have one more list of files in memory. Whoever has a list must not wait
/// for another.
pub(crate) async fn reserve_list_memory(tenant: &str) -> FileMemoryPermit {
    LIST_MEMORY.reserve(tenant, LIST_BYTES).await
}

#[derive(Debug)]
struct FileMemory {
    all: Arc<Semaphore>,
    /// Of tenants that have memory, or wait for it.
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Default for FileMemory {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(TOTAL_UNITS)),
            tenants: Mutex::default(),
        }
    }
}

impl FileMemory {
    async fn reserve(&self, tenant: &str, bytes: u64) -> FileMemoryPermit {
        let units = usize::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(usize::MAX);
        let units = u32::try_from(units.clamp(1, TENANT_UNITS)).unwrap_or(u32::MAX);
        // Neither is ever closed. The tenant's comes first, so that nobody waits for a tenant that
        // has used up its share.
        let of_tenant = self.tenant_units(tenant).acquire_many_owned(units).await;
        let of_all = Arc::clone(&self.all).acquire_many_owned(units).await;
        FileMemoryPermit {
            _tenant: of_tenant.ok(),
            _all: of_all.ok(),
        }
    }

    fn tenant_units(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = lock(&self.tenants);
        // Whoever has memory, or waits for it, has the semaphore too.
        tenants.retain(|_, units| Arc::strong_count(units) > 1);
        let units = tenants.entry(tenant.to_owned());
        Arc::clone(units.or_insert_with(|| Arc::new(Semaphore::new(TENANT_UNITS))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ready) => Some(ready),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_tenant_has_few_lists_at_once_and_others_have_theirs() {
        let memory = FileMemory::default();
        let lists = |tenant: &str| {
            let lists = std::iter::repeat_with(|| poll_once(memory.reserve(tenant, LIST_BYTES)));
            lists.map_while(|list| list).collect::<Vec<_>>()
        };
        let held = lists("one");
        assert_eq!(held.len(), 4);
        assert_eq!(lists("other").len(), 4);
        drop(held);
        assert_eq!(lists("one").len(), 4);
    }

    #[test]
    fn a_tenant_has_half_of_the_memory_and_no_other_waits_for_it() {
        let memory = FileMemory::default();
        let held = poll_once(memory.reserve("one", u64::MAX));
        assert!(held.is_some(), "the largest file fits");
        assert!(poll_once(memory.reserve("one", 1)).is_none());
        let other = poll_once(memory.reserve("other", u64::MAX));
        assert!(other.is_some());
        assert!(poll_once(memory.reserve("third", 1)).is_none());
        drop((held, other));
        assert!(poll_once(memory.reserve("one", 1)).is_some());
        let kept: Vec<_> = lock(&memory.tenants).keys().cloned().collect();
        assert_eq!(kept, ["one"], "who has none is forgotten");
    }
}
