//! The last answer of a connection, where it is not stored: the connection can go on from
//! it all the same. Nothing of it is written anywhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_store::TenantId;
use serde_json::Value;

use super::items_of;
use super::message::Create;

/// Bytes that one connection remembers.
const MAX_BYTES: usize = 4 << 20;
/// Bytes that all connections of a tenant remember.
const TENANT_BYTES: usize = 64 << 20;
/// Bytes that all connections remember.
const ALL_BYTES: usize = 512 << 20;

/// What all connections remember. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Memories(Arc<Mutex<Sums>>);

#[derive(Default)]
struct Sums {
    all: usize,
    tenants: HashMap<TenantId, usize>,
}

impl Memories {
    /// An empty memory for a connection of a tenant.
    pub(super) fn of(&self, tenant: &TenantId) -> Memory {
        Memory {
            memories: self.clone(),
            tenant: tenant.clone(),
            last: None,
        }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, tenant: &TenantId, bytes: usize) -> bool {
        let mut sums = self.sums();
        let own = sums.tenants.get(tenant).copied().unwrap_or_default();
        let fits = own + bytes <= TENANT_BYTES && sums.all + bytes <= ALL_BYTES;
        if fits {
            sums.all += bytes;
            sums.tenants.insert(tenant.clone(), own + bytes);
        }
        fits
    }

    fn give_back(&self, tenant: &TenantId, bytes: usize) {
        let mut sums = self.sums();
        sums.all = sums.all.saturating_sub(bytes);
        let own = sums.tenants.get(tenant).copied().unwrap_or_default();
        match own.saturating_sub(bytes) {
            0 => sums.tenants.remove(tenant),
            left => sums.tenants.insert(tenant.clone(), left),
        };
    }
}

/// What a connection remembers.
pub(super) struct Memory {
    memories: Memories,
    tenant: TenantId,
    last: Option<Last>,
}

/// An answer, and all that was said up to it.
struct Last {
    id: String,
    items: Vec<Value>,
    bytes: usize,
}

impl Memory {
    /// Puts what was said before in front of a message that goes on from the last answer.
    pub(super) fn resume(&self, create: Create) -> Create {
        match &self.last {
            Some(last) if create.previous() == Some(&last.id) => create.after(&last.items),
            _ => create,
        }
    }

    /// Remembers an answer in place of the one before.
    pub(super) fn remember(&mut self, create: &Create, response: &Value) {
        self.forget();
        let id = response.get("id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| create.is_whole()) else {
            return;
        };
        let output = response.get("output").and_then(Value::as_array);
        let output = output.into_iter().flatten().filter(|item| is_lasting(item));
        let items: Vec<Value> = items_of(create.input())
            .iter()
            .chain(output)
            .cloned()
            .collect();
        let bytes: usize = items.iter().map(|item| item.to_string().len()).sum();
        if bytes > MAX_BYTES || !self.memories.take(&self.tenant, bytes) {
            tracing::debug!(bytes, "an answer is too long to be remembered");
            return;
        }
        self.last = Some(Last {
            id: id.to_owned(),
            items,
            bytes,
        });
    }

    pub(super) fn forget(&mut self) {
        if let Some(last) = self.last.take() {
            self.memories.give_back(&self.tenant, last.bytes);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Thoughts without their seal are known only to a server that stored them.
fn is_lasting(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) != Some("reasoning")
        || item.get("encrypted_content").is_some_and(Value::is_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create(input: &str) -> Create {
        let message = json!({"type": "response.create", "input": input, "store": false});
        Create::read(&message.to_string()).unwrap()
    }

    #[test]
    fn what_is_remembered_is_bounded_and_given_back() {
        let memories = Memories::default();
        let (one, two) = (TenantId::new("one").unwrap(), TenantId::new("two").unwrap());
        let response = json!({"id": "resp_1", "output": []});
        let large = "x".repeat(3 << 20);
        let mut of_one: Vec<Memory> = Vec::new();
        for _ in 0..30 {
            let mut memory = memories.of(&one);
            memory.remember(&create(&large), &response);
            of_one.push(memory);
        }
        let kept = of_one.iter().filter(|memory| memory.last.is_some()).count();
        assert_eq!(kept, TENANT_BYTES / (3 << 20));
        let mut other = memories.of(&two);
        other.remember(&create("Hi"), &response);
        assert!(other.last.is_some(), "another tenant has room");
        drop((of_one, other));
        let sums = memories.sums();
        assert!(sums.all == 0 && sums.tenants.is_empty());
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_remembered() {
        let mut memory = Memories::default().of(&TenantId::default_tenant());
        let response = json!({"id": "resp_1", "output": []});
        memory.remember(&create("Hi"), &response);
        assert!(memory.last.is_some());
        memory.remember(&create(&"x".repeat(MAX_BYTES)), &response);
        assert!(memory.last.is_none());
    }
}
