//! The bytes of request bodies that are in memory at once, and how slow bodies may come.
//!
//! | module | owns |
//! |---|---|
//! | `budget` | bytes in memory, of all tenants and of each |
//! | `gate` | how much of a body a parser takes in before it makes something of it |
//! | `pace` | how long a body may stand still, and its least rate |

mod budget;
mod gate;
mod pace;

pub(crate) use budget::{BodyBudget, BodyReservation};
pub(crate) use gate::{Gate, ItemTooLong};
pub(crate) use pace::{BodyPace, paced_body};
