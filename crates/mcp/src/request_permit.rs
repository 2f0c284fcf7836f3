//! What a request holds until it is answered, and the memory in which its response is counted.
//!
//! A tool can return a file, and lists can be long. A client that sends many requests and reads no
//! response would fill the memory with responses. So a server counts them until they are sent, and
//! a response for which there is no memory becomes an error. Over standard input and output nothing
//! is counted.

use crate::model_text;
use http::request::Parts;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// How often a response is in memory at the same time: as a value, as JSON, and as an event.
const RESPONSE_COPIES: usize = 3;

/// Memory in which a response is counted until it was sent.
pub trait ResponseMemory: Debug + Send + Sync {
    /// Counts more bytes; false if there are not as many left. It must not wait: a response that
    /// waits is in memory, too.
    fn try_grow(&self, bytes: usize) -> bool;
}

/// What a request holds until it is answered, also when its client has left: an extension of the
/// HTTP request.
#[derive(Debug, Clone)]
pub struct RequestPermit {
    memory: Option<Arc<dyn ResponseMemory>>,
    _permit: Arc<dyn Any + Send + Sync>,
}

impl RequestPermit {
    /// Holds this until the last clone is dropped.
    pub fn new(permit: impl Any + Send + Sync) -> Self {
        RequestPermit {
            memory: None,
            _permit: Arc::new(permit),
        }
    }

    /// Counts the response in this memory, which is held too.
    #[must_use]
    pub fn with_memory(self, memory: impl ResponseMemory + 'static) -> Self {
        RequestPermit {
            memory: Some(Arc::new(memory)),
            ..self
        }
    }
}

/// Counts a result.
///
/// # Errors
/// When there is no memory for it.
pub(crate) fn count_result<T: Serialize>(
    context: &RequestContext<RoleServer>,
    result: T,
) -> Result<T, ErrorData> {
    if memory(context).is_none() || count_bytes(context, json_bytes(&result)) {
        return Ok(result);
    }
    Err(ErrorData::internal_error(
        model_text::TOO_MANY_RESPONSES,
        None,
    ))
}

/// Counts so many bytes of a response; false if there is no memory for them.
pub(crate) fn count_bytes(context: &RequestContext<RoleServer>, bytes: usize) -> bool {
    let bytes = bytes.saturating_mul(RESPONSE_COPIES);
    memory(context).is_none_or(|memory| memory.try_grow(bytes))
}

fn memory(context: &RequestContext<RoleServer>) -> Option<&dyn ResponseMemory> {
    let parts = context.extensions.get::<Parts>()?;
    let permit = parts.extensions.get::<RequestPermit>()?;
    permit.memory.as_deref()
}

/// Bytes of a value as JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    let mut counter = ByteCounter(0);
    // What cannot be written is not sent either.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_bytes_of_a_value_are_those_of_its_json() {
        let value = json!({"a\n": [1, "ü", null], "b": {"c": 1.5}});
        assert_eq!(json_bytes(&value), value.to_string().len());
    }
}
