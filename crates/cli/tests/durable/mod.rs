//! What the tests of kept runs share: a server over a database that outlives it, a model that
//! counts its calls, and the comparison of two runs.

pub(crate) mod bed;
pub(crate) mod compare;
pub(crate) mod database;
pub(crate) mod events;
pub(crate) mod follow;
pub(crate) mod kill;
pub(crate) mod model;
pub(crate) mod observation;
pub(crate) mod poll;
pub(crate) mod request;
