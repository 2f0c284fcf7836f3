//! Gateways of one cluster: what they tell each other over the bus, and what is shown of them.
//!
//! The store is the truth, and messages only say where to look: every one may be lost, and then
//! is made up for by the next look into the store. So nothing here is waited for by a request.
//! Without a cluster none of this exists.
//!
//! | module | owns |
//! |---|---|
//! | `membership`, `view` | what the owner of a server gives: bus, names, what is known of workers |
//! | `subjects` | the subjects of the gateways' messages |
//! | `gateway_beat` | what a gateway announces each second |
//! | `gateway_table` | the gateways that were seen lately |
//! | `member_state` | whether a gateway or worker is ready, stopping or lost |
//! | `link` | this gateway's connection with the others: what is to be published, by whom else |
//! | `rates_message` | what keys have used, as gateways report it |
//! | `cache_drops` | which caches are forgotten, here and there |
//! | `run_wakes` | messages about single runs: new events, cancellations |
//! | `join` | the tasks that publish and receive |
//! | `receive` | what a received message changes |
//!
//! Commands and containers are placed by others; this crate knows nothing of workers but what a
//! [`ClusterView`](view::ClusterView) shows.

pub(crate) mod cache_drops;
pub(crate) mod gateway_beat;
pub(crate) mod gateway_table;
pub(crate) mod join;
pub(crate) mod link;
pub(crate) mod member_state;
pub(crate) mod membership;
mod rates_message;
mod receive;
pub(crate) mod run_wakes;
mod subjects;
pub(crate) mod view;
