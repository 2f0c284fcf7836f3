//! More tests of kept runs, each with servers and models of its own.

mod auto_offer;
mod broken_connections;
mod expired_container;
mod first_step;
mod lost_too_often;
mod older_format;
mod resumed_limits;
mod upstream_breaks;
mod webhook_kills;
