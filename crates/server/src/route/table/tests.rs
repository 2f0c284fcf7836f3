//! The table is consistent.

use std::collections::HashSet;

use axum::http::Method;

use super::row::{PathNames, RouteAction};
use super::*;

fn is_model_call(row: &RouteRow) -> bool {
    matches!(
        row.action,
        RouteAction::CallModel { .. } | RouteAction::CallModelInPath(_)
    )
}

#[test]
fn calls_to_models_are_in_the_list_that_the_direct_path_scans() {
    assert!(MODEL_CALLS.iter().all(is_model_call));
    assert!(!handler_rows().any(is_model_call));
}

#[test]
fn no_route_is_listed_twice() {
    let mut seen = HashSet::new();
    for row in rows() {
        for prefix in row.prefixes() {
            let route = (row.method.as_str(), format!("{prefix}{}", row.path));
            assert!(seen.insert(route.clone()), "{route:?}");
        }
    }
}

#[test]
fn every_parameter_of_an_owned_path_has_a_kind() {
    for row in rows() {
        let parameters = row.path.matches('{').count();
        match row.names {
            PathNames::Objects(kinds) => assert_eq!(kinds.len(), parameters, "{}", row.path),
            PathNames::OwnList => assert_eq!(parameters, 0, "{}", row.path),
            PathNames::Nothing(reason) => assert!(!reason.is_empty(), "{}", row.path),
        }
    }
}

#[test]
fn a_row_is_documented_where_it_is_served() {
    for row in rows() {
        for (mount, _) in row.operations.iter() {
            assert!(row.is_below(mount.prefix()), "{}", row.path);
        }
    }
}

#[test]
fn a_row_that_another_serves_names_one_with_a_handler_below_the_same_mounts() {
    for row in rows() {
        if let RouteAction::ServedBy(path) = row.action {
            for prefix in row.prefixes() {
                let serves = |other: &RouteRow| {
                    let has_handler = matches!(other.action, RouteAction::Handler(_));
                    has_handler && other.path == path && other.is_below(prefix)
                };
                assert!(handler_rows().any(serves), "{prefix}{path}");
            }
        }
    }
}

#[test]
fn the_label_of_a_model_in_a_path_is_that_path() {
    for row in MODEL_CALLS {
        if let RouteAction::CallModelInPath(method) = row.action {
            assert_eq!(method.route(), format!("/v1beta{}", row.path));
        }
    }
}

#[test]
fn calls_to_models_are_found_below_each_mount_and_nowhere_else() {
    for row in MODEL_CALLS {
        let path = row.path.replace("{model}", "small");
        for prefix in row.prefixes() {
            let path = format!("{prefix}{path}");
            assert!(find_endpoint(&Method::POST, &path).is_some(), "{path}");
        }
        for prefix in ["/v2", "/v1/v1/v1", "/openai", "v1"] {
            let path = format!("{prefix}{path}");
            assert!(find_endpoint(&Method::POST, &path).is_none(), "{path}");
        }
    }
    for path in [
        "/v1/models/small",
        "/v1/messages/",
        "/v1/responses/resp_x",
        "/",
    ] {
        assert!(find_endpoint(&Method::POST, path).is_none(), "{path}");
    }
}

#[test]
fn get_at_the_path_of_a_model_call_goes_to_the_router_where_it_has_a_row() {
    for (path, has_row) in [
        ("/v1/messages", false),
        ("/v1/chat/completions", true),
        ("/responses", true),
        ("/v1/responses/compact", false),
    ] {
        let found = find_endpoint(&Method::GET, path);
        assert_eq!(found.is_none(), has_row, "{path}");
        assert!(find_endpoint(&Method::HEAD, path).is_some(), "{path}");
    }
}
