//! The last response of a connection, when it is not stored: the connection can still continue
//! from it. It is held in memory only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_store::TenantId;
use prowess_wire::parsed_excess;
use serde_json::Value;

use super::message::{CreateMessage, input_items};

/// Bytes per connection.
const MAX_SOCKET_BYTES: usize = 4 << 20;
/// Bytes of all connections of a tenant.
const MAX_TENANT_BYTES: usize = 64 << 20;
/// Bytes of all connections.
const MAX_TOTAL_BYTES: usize = 512 << 20;

/// Memory of all connections. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct SocketMemories(Arc<Mutex<MemoryTotals>>);

#[derive(Default)]
struct MemoryTotals {
    all: usize,
    tenants: HashMap<TenantId, usize>,
}

impl SocketMemories {
    /// Empty memory for a connection of a tenant.
    pub(super) fn for_tenant(&self, tenant: &TenantId) -> SocketMemory {
        SocketMemory {
            memories: self.clone(),
            tenant: tenant.clone(),
            last: None,
            pending: None,
        }
    }

    fn totals(&self) -> MutexGuard<'_, MemoryTotals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, tenant: &TenantId, bytes: usize) -> bool {
        let mut totals = self.totals();
        let own = totals.tenants.get(tenant).copied().unwrap_or_default();
        let fits = own + bytes <= MAX_TENANT_BYTES && totals.all + bytes <= MAX_TOTAL_BYTES;
        if fits {
            totals.all += bytes;
            totals.tenants.insert(tenant.clone(), own + bytes);
        }
        fits
    }

    fn release(&self, tenant: &TenantId, bytes: usize) {
        let mut totals = self.totals();
        totals.all = totals.all.saturating_sub(bytes);
        let own = totals.tenants.get(tenant).copied().unwrap_or_default();
        match own.saturating_sub(bytes) {
            0 => totals.tenants.remove(tenant),
            left => totals.tenants.insert(tenant.clone(), left),
        };
    }
}

/// Memory of one connection.
pub(super) struct SocketMemory {
    memories: SocketMemories,
    tenant: TenantId,
    last: Option<LastResponse>,
    /// All items before the response in progress.
    pending: Option<ItemBuffer>,
}

/// A response and all items up to it.
struct LastResponse {
    id: String,
    items: ItemBuffer,
}

/// Items as comma-separated JSON, which is many times smaller than parsed values. Counted
/// until dropped.
struct ItemBuffer {
    memories: SocketMemories,
    tenant: TenantId,
    text: String,
}

impl ItemBuffer {
    /// Appends items, if they fit.
    fn extended<'a>(mut self, items: impl Iterator<Item = &'a Value>) -> Option<ItemBuffer> {
        for item in items {
            let item = item.to_string();
            let bytes = item.len() + 1;
            let fits = self.text.len() + bytes <= MAX_SOCKET_BYTES;
            if !fits || !self.memories.reserve(&self.tenant, bytes) {
                tracing::debug!("response too long to hold in memory");
                return None;
            }
            self.text.push_str(&item);
            self.text.push(',');
        }
        Some(self)
    }

    fn values(&self) -> Vec<Value> {
        let list = format!("[{}]", self.text.trim_end_matches(','));
        // It was written here.
        serde_json::from_str(&list).unwrap_or_default()
    }
}

impl Drop for ItemBuffer {
    fn drop(&mut self) {
        self.memories.release(&self.tenant, self.text.len());
    }
}

impl SocketMemory {
    /// Bytes in memory, and those that its values take when they are parsed.
    pub(super) fn bytes(&self) -> usize {
        let text = self.last.as_ref().map(|last| last.items.text.as_bytes());
        text.map_or(0, |text| text.len().saturating_add(parsed_excess(text)))
    }

    /// Prepends earlier items to a message that continues from the last response.
    pub(super) fn resume(&self, create: CreateMessage) -> CreateMessage {
        match &self.last {
            Some(last) if create.previous_response_id() == Some(&last.id) => {
                create.with_history(&last.items.values())
            }
            _ => create,
        }
    }

    /// Records a message that will be answered, and drops everything before.
    pub(super) fn begin(&mut self, create: &CreateMessage) {
        self.last = None;
        self.pending = None;
        let needed = create.is_whole() && !(create.stores && create.generate);
        if needed {
            let none = ItemBuffer {
                memories: self.memories.clone(),
                tenant: self.tenant.clone(),
                text: String::new(),
            };
            self.pending = none.extended(input_items(create.input()).iter());
        }
    }

    /// Records the response, if there is one.
    pub(super) fn finish(&mut self, response: Option<&Value>) {
        let pending = self.pending.take();
        let id = response.and_then(|response| response.get("id")?.as_str());
        let (Some(id), Some(items)) = (id, pending) else {
            return;
        };
        let output = response.and_then(|response| response.get("output")?.as_array());
        let output = output.into_iter().flatten().filter(|item| is_lasting(item));
        self.last = items.extended(output).map(|items| LastResponse {
            id: id.to_owned(),
            items,
        });
    }
}

/// Reasoning without encrypted content is known only to a server that stored it.
fn is_lasting(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) != Some("reasoning")
        || item.get("encrypted_content").is_some_and(Value::is_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create(input: &str) -> CreateMessage {
        let message = json!({"type": "response.create", "input": input, "store": false});
        CreateMessage::parse(&message.to_string()).unwrap()
    }

    fn remember(memory: &mut SocketMemory, create: &CreateMessage, response: &Value) {
        memory.begin(create);
        memory.finish(Some(response));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_given_back() {
        let memories = SocketMemories::default();
        let (one, two) = (TenantId::new("one").unwrap(), TenantId::new("two").unwrap());
        let response = json!({"id": "resp_1", "output": []});
        let large = create(&"x".repeat(3 << 20));
        let mut of_one: Vec<SocketMemory> = Vec::new();
        for _ in 0..30 {
            let mut memory = memories.for_tenant(&one);
            remember(&mut memory, &large, &response);
            of_one.push(memory);
        }
        let kept = of_one.iter().filter(|memory| memory.last.is_some()).count();
        assert_eq!(kept, MAX_TENANT_BYTES / (3 << 20));
        let mut other = memories.for_tenant(&two);
        remember(&mut other, &create("Hi"), &response);
        assert!(other.last.is_some(), "another tenant has room");
        drop((of_one, other));
        let totals = memories.totals();
        assert!(totals.all == 0 && totals.tenants.is_empty());
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_remembered() {
        let mut memory = SocketMemories::default().for_tenant(&TenantId::default_tenant());
        let response = json!({"id": "resp_1", "output": []});
        remember(&mut memory, &create("Hi"), &response);
        assert!(memory.last.is_some());
        remember(
            &mut memory,
            &create(&"x".repeat(MAX_SOCKET_BYTES)),
            &response,
        );
        assert!(memory.last.is_none());
    }
}
