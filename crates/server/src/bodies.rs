//! The bytes of request bodies that are in memory at once, and how slow bodies may come.
//!
//! | module | owns |
//! |---|---|
//! | `budget` | bytes in memory, of all tenants and of each |
//! | `pace` | how long a body may stand still, and its least average rate |

mod budget;
mod pace;

pub(crate) use budget::{BodyBudget, Reservation};
pub(crate) use pace::{Counted, Pace, paced};
