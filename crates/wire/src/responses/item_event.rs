//! An event of an output item in a Responses stream. Which events an item has is the task of
//! its own module.

use serde_json::Value;

/// An event's name and fields, without the numbers every event carries.
pub(super) type ItemEvent = (&'static str, Value);
