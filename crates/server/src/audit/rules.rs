//! The action of each route that changes something, or why it has none. A test fails if a route
//! is missing here.

use prowess_store::AuditAction;

use crate::route::table::row::{RouteMethod, RouteRow};

/// Whether and how the requests to a route are in the audit log.
pub(crate) enum AuditRule {
    /// The store writes the entry, in the transaction of the change.
    InTransaction(AuditAction),
    /// The entry is written after the response.
    AfterResponse(AuditAction),
    /// There is none, for this reason.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reason is for readers"))]
    Not(&'static str),
}

use AuditRule::{AfterResponse, InTransaction, Not};
use RouteMethod::{Delete, Patch, Post, Put};

const CONTENT: AuditRule =
    Not("what clients send to models: it is in usage and in records of runs");

const ELSEWHERE: AuditRule =
    Not("it changes nothing here; the log and the usage of its key have it");

/// Routes by method and path below their mount.
const RULES: &[(RouteMethod, &str, AuditRule)] = &[
    (Post, "/admin/keys", InTransaction(AuditAction::KeyCreate)),
    (
        Patch,
        "/admin/keys/{key}",
        InTransaction(AuditAction::KeyUpdate),
    ),
    (
        Delete,
        "/admin/keys/{key}",
        InTransaction(AuditAction::KeyRevoke),
    ),
    (
        Post,
        "/admin/keys/{key}/rotate",
        InTransaction(AuditAction::KeyRotate),
    ),
    (
        Post,
        "/admin/reload",
        AfterResponse(AuditAction::ConfigurationReload),
    ),
    (Post, "/skills", InTransaction(AuditAction::SkillCreate)),
    (
        Post,
        "/skills/{skill}",
        InTransaction(AuditAction::SkillSetDefault),
    ),
    (
        Delete,
        "/skills/{skill}",
        InTransaction(AuditAction::SkillDelete),
    ),
    (
        Post,
        "/skills/{skill}/versions",
        InTransaction(AuditAction::VersionCreate),
    ),
    (
        Delete,
        "/skills/{skill}/versions/{version}",
        InTransaction(AuditAction::VersionDelete),
    ),
    (
        Post,
        "/skills/{skill}/versions/{version}",
        InTransaction(AuditAction::VersionUpdate),
    ),
    (
        Post,
        "/skills/{skill}/versions/{version}/revoke",
        InTransaction(AuditAction::VersionRevoke),
    ),
    (
        Post,
        "/skills/{skill}/versions/{version}/restore",
        InTransaction(AuditAction::VersionRestore),
    ),
    (
        Post,
        "/skills/{skill}/labels/{label}",
        InTransaction(AuditAction::LabelSet),
    ),
    (
        Delete,
        "/skills/{skill}/labels/{label}",
        InTransaction(AuditAction::LabelDelete),
    ),
    // Each skill or version that it creates has an entry of its own.
    (
        Post,
        "/skills/import",
        InTransaction(AuditAction::SkillCreate),
    ),
    (Post, "/files", CONTENT),
    (
        Delete,
        "/files/{file}",
        InTransaction(AuditAction::FileDelete),
    ),
    (Post, "/containers", CONTENT),
    (
        Delete,
        "/containers/{container}",
        AfterResponse(AuditAction::ContainerDelete),
    ),
    (Post, "/containers/{container}/files", CONTENT),
    (
        Delete,
        "/containers/{container}/files/{file}",
        AfterResponse(AuditAction::ContainerFileDelete),
    ),
    (
        Post,
        "/runs/{run}/cancel",
        AfterResponse(AuditAction::RunCancel),
    ),
    (Post, "/messages/batches", CONTENT),
    (
        Delete,
        "/messages/batches/{message_batch}",
        AfterResponse(AuditAction::BatchDelete),
    ),
    (
        Post,
        "/messages/batches/{message_batch}/cancel",
        AfterResponse(AuditAction::BatchCancel),
    ),
    (Post, "/batches", CONTENT),
    (
        Post,
        "/batches/{batch}/cancel",
        AfterResponse(AuditAction::BatchCancel),
    ),
    (
        Delete,
        "/responses/{id}",
        AfterResponse(AuditAction::ResponseDelete),
    ),
    (
        Post,
        "/responses/{id}/cancel",
        AfterResponse(AuditAction::ResponseCancel),
    ),
    (Post, "/conversations", CONTENT),
    (Post, "/conversations/{id}", CONTENT),
    (
        Delete,
        "/conversations/{id}",
        AfterResponse(AuditAction::ConversationDelete),
    ),
    (Post, "/conversations/{id}/items", CONTENT),
    (
        Delete,
        "/conversations/{id}/items/{item}",
        AfterResponse(AuditAction::ConversationItemDelete),
    ),
    (Post, "/chat/completions/{id}", CONTENT),
    (
        Delete,
        "/chat/completions/{id}",
        AfterResponse(AuditAction::ChatCompletionDelete),
    ),
    (Post, "/images/generations", CONTENT),
    (Post, "/images/edits", CONTENT),
    (Post, "/images/variations", CONTENT),
    (Post, "/audio/speech", CONTENT),
    (Post, "/audio/transcriptions", CONTENT),
    (Post, "/audio/translations", CONTENT),
    (Post, "/moderations", CONTENT),
    (Post, "/decisions", CONTENT),
    (Post, "/rerank", CONTENT),
    (Post, "/v2/rerank", CONTENT),
    (Post, "/completions", CONTENT),
    (Post, "/providers/{provider}/{*path}", ELSEWHERE),
    (Put, "/providers/{provider}/{*path}", ELSEWHERE),
    (Patch, "/providers/{provider}/{*path}", ELSEWHERE),
    (Delete, "/providers/{provider}/{*path}", ELSEWHERE),
    (Delete, "/models/{*model}", Not("it is always refused")),
    (Post, "/mcp", CONTENT),
    (
        Delete,
        "/mcp",
        Not("it ends a session, which changes nothing stored"),
    ),
];

/// The rule of a route.
pub(crate) fn find(row: &RouteRow) -> Option<&'static AuditRule> {
    let same = |(method, path, _): &&(RouteMethod, &str, AuditRule)| {
        *method == row.method && *path == row.path
    };
    RULES.iter().find(same).map(|(_, _, rule)| rule)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::route::table::handler_rows;

    #[test]
    fn every_route_that_changes_something_has_an_action_or_a_reason_not_to() {
        for row in handler_rows().filter(|row| row.method != RouteMethod::Get) {
            let (method, path) = (row.method.as_str(), row.path);
            let rule = find(row);
            assert!(rule.is_some(), "{method} {path}: what is its action?");
            if let Some(Not(reason)) = rule {
                assert!(!reason.is_empty(), "{method} {path}");
                let is_admin = path.starts_with("/admin") || path.starts_with("/skills");
                assert!(!is_admin, "{method} {path} must be in the audit log");
            }
        }
    }

    #[test]
    fn every_rule_is_about_a_route_and_every_action_has_one() {
        for (method, path, _) in RULES {
            let mut rows = handler_rows();
            let is_there = rows.any(|row| row.method == *method && row.path == *path);
            assert!(is_there, "{} {path}", method.as_str());
        }
        let used = RULES.iter().filter_map(|(_, _, rule)| match rule {
            InTransaction(action) | AfterResponse(action) => Some(*action),
            Not(_) => None,
        });
        let used: HashSet<AuditAction> = used.collect();
        for action in AuditAction::ALL {
            assert!(used.contains(&action), "{}", action.as_str());
        }
    }
}
