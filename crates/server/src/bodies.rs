//! Memory for request bodies, and their minimum transfer rate.
//!
//! | module | owns |
//! |---|---|
//! | `budget` | bytes in memory, overall and per tenant |
//! | `gate` | how many bytes a parser may take before it produces an item |
//! | `pace` | idle timeout and minimum rate of a body |

mod budget;
mod gate;
mod pace;

pub(crate) use budget::{BodyBudget, BodyReservation, OwnedBodyReservation};
pub(crate) use gate::{Gate, ItemTooLong};
pub(crate) use pace::{BodyPace, paced_body};
