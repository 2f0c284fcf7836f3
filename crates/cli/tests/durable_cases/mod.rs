//! More tests of kept runs, each with servers and models of its own.

mod expired_container;
mod resumed_limits;
mod upstream_breaks;
mod webhook_kills;
