//! The table as tests outside of this crate see it.

use super::row::PathNames;
use super::rows;

/// A route at one of its paths.
#[derive(Debug, Clone)]
pub struct RouteSummary {
    /// In upper case.
    pub method: String,
    /// With its parameters named as in the OpenAPI document.
    pub path: String,
    /// The same without its mount.
    pub path_below_mount: String,
    /// Whether its parameters name a tenant's objects.
    pub names_objects: bool,
    /// Whether it lists objects of the tenant.
    pub lists_objects: bool,
    /// Whether it is a WebSocket.
    pub is_websocket: bool,
}

/// Every route at each of its paths.
pub fn route_table() -> Vec<RouteSummary> {
    let mut all = Vec::new();
    for row in rows() {
        let below = row.documented_path();
        for prefix in row.prefixes() {
            all.push(RouteSummary {
                method: row.method.as_str().to_uppercase(),
                path: format!("{prefix}{below}"),
                path_below_mount: below.clone(),
                names_objects: matches!(row.names, PathNames::Objects(_)),
                lists_objects: matches!(row.names, PathNames::OwnList),
                is_websocket: row.is_websocket(),
            });
        }
    }
    all
}
