//! Memory for request bodies, and their minimum transfer rate.
//!
//! | module | owns |
//! |---|---|
//! | `budget` | bytes in memory, overall and per tenant |
//! | `gate` | how many bytes a parser may take before it produces an item |
//! | `gated_stream` | a gate for a whole connection |
//! | `held_body` | a reservation until a response was read |
//! | `pace` | idle timeout and minimum rate of a body |

mod budget;
mod gate;
mod gated_stream;
mod held_body;
mod pace;

pub(crate) use budget::{BodyBudget, BodyReservation, OwnedBodyReservation};
pub(crate) use gate::{Gate, ItemTooLong};
pub(crate) use gated_stream::GatedStream;
pub(crate) use held_body::hold_until_read;
pub(crate) use pace::{BodyPace, paced_body};
