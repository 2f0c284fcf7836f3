//! Arguments: tenants and times, by the rules of the store. What breaks them is wrong usage.

use prowess_store::{Error, TenantId, Timestamp, UsageQuery};

/// Parses the id of a tenant.
pub(super) fn parse_tenant(text: &str) -> Result<TenantId, Error> {
    TenantId::new(text)
}

/// Checks a time (`7d`, `2026-11-01`), which is read when it is used, or by a server.
pub(super) fn parse_time(text: &str) -> Result<String, Error> {
    UsageQuery::parse_since(text, Timestamp::now()).map(|_| text.to_owned())
}
