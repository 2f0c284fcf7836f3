//! Webhooks: HTTP requests that announce the end of a run.
//!
//! The store writes them in the transaction that ends the run; a background task delivers
//! them at least once, signed as Standard Webhooks defines it. This module does not know how
//! a run ends, and stores no secret: only URL and body are stored, and the secret is looked
//! up by the URL when a webhook is sent.
//!
//! | module | owns |
//! |---|---|
//! | [`settings`] | endpoints, and all other settings |
//! | `host`, `webhook_url` | hosts that requests may name; URLs that can be used |
//! | [`request_url`] | the URL that a request names by its header |
//! | [`payload`] | which webhooks announce the end of a run, and their bodies |
//! | [`signature`] | secrets and signatures |
//! | `guard` | which addresses may be connected to |
//! | `send` | one attempt to deliver a webhook |
//! | [`deliver`] | the background task: what is due, retries, shares of tenants |

pub(crate) mod deliver;
mod guard;
pub(crate) mod host;
pub(crate) mod payload;
pub(crate) mod request_url;
mod send;
pub(crate) mod settings;
pub(crate) mod signature;
pub(crate) mod webhook_url;
