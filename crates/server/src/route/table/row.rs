//! A row of the route table: everything that is known about one route.
//!
//! Only types. The rows are next to their handlers; `table` collects them. A row cannot be
//! written without its OpenAPI operations and without what its path names of a tenant.

use std::sync::LazyLock;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;
use serde_json::Value;

use super::mounts::{MountGroup, ROOT_ONLY, VENDORS_AND_ROOT};
use crate::app::App;
use crate::google::ModelMethod;
use crate::openapi::operation::{ApiMount, Operation, OperationResponse, Operations};

/// One method at one path.
pub(crate) struct RouteRow {
    pub(crate) method: RouteMethod,
    /// Below each mount, as a pattern of the router.
    pub(crate) path: &'static str,
    pub(crate) mounts: &'static [MountGroup],
    pub(crate) action: RouteAction,
    pub(crate) operations: Operations,
    pub(crate) names: PathNames,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteMethod {
    /// Answers HEAD too.
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// Builds a handler for a method, with its layers.
pub(crate) type BuildHandler = fn(RouteMethod, &RouteSetup<'_>) -> MethodRouter<App>;

/// What serves a request.
pub(crate) enum RouteAction {
    /// A handler behind the router.
    Handler(BuildHandler),
    /// The handler of another row at this path, because the router cannot tell them apart.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test checks that it exists"))]
    ServedBy(&'static str),
    /// The gateway, without the router: a call to the model that the body names.
    CallModel {
        client: ClientDialect,
        task: ModelTask,
    },
    /// The gateway, without the router: a call to the model that the path names, as in
    /// Google's API.
    CallModelInPath(ModelMethod),
}

/// What the parameters of a path name: the test of tenant isolation uses this to request
/// another tenant's objects from every route.
pub(crate) enum PathNames {
    /// A tenant's objects, one per parameter.
    Objects(&'static [ObjectKind]),
    /// Nothing, and the response lists objects of the tenant.
    OwnList,
    /// Nothing that a tenant owns, for this reason.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reason is for readers"))]
    Nothing(&'static str),
}

/// A kind of object that a tenant owns.
#[derive(Clone, Copy)]
pub(crate) enum ObjectKind {
    Skill,
    Version,
    Label,
    File,
    Container,
    Run,
    Response,
    Conversation,
    ConversationItem,
    ChatCompletion,
    MessageBatch,
    Batch,
    Key,
}

impl ObjectKind {
    /// The name of the path parameter in OpenAPI.
    fn parameter(self) -> &'static str {
        match self {
            ObjectKind::Skill => "skill",
            ObjectKind::Version => "version",
            ObjectKind::Label => "label",
            ObjectKind::File => "file",
            ObjectKind::Container => "container",
            ObjectKind::Run => "run",
            ObjectKind::Response => "id",
            ObjectKind::Conversation => "conversation",
            ObjectKind::ConversationItem => "item",
            ObjectKind::ChatCompletion => "completion",
            ObjectKind::MessageBatch => "message_batch",
            ObjectKind::Batch => "batch",
            ObjectKind::Key => "key",
        }
    }
}

/// What handlers need when the router is built.
pub(crate) struct RouteSetup<'a> {
    pub(crate) app: &'a App,
    /// The OpenAPI document, which is generated from the table.
    pub(crate) document: &'static LazyLock<Value>,
}

/// A handler for one method.
pub(crate) fn on<H, T>(method: RouteMethod, handler: H) -> MethodRouter<App>
where
    H: Handler<T, App>,
    T: 'static,
{
    match method {
        RouteMethod::Get => routing::get(handler),
        RouteMethod::Post => routing::post(handler),
        RouteMethod::Put => routing::put(handler),
        RouteMethod::Patch => routing::patch(handler),
        RouteMethod::Delete => routing::delete(handler),
    }
}

/// A handler for bodies of up to so many bytes.
pub(crate) fn limit_body(handler: MethodRouter<App>, bytes: u64) -> MethodRouter<App> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    handler.layer(DefaultBodyLimit::max(bytes))
}

impl RouteMethod {
    /// As in OpenAPI.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RouteMethod::Get => "get",
            RouteMethod::Post => "post",
            RouteMethod::Put => "put",
            RouteMethod::Patch => "patch",
            RouteMethod::Delete => "delete",
        }
    }
}

impl RouteRow {
    /// A row of OpenAI's API that has no counterpart in Anthropic's. It is served below their
    /// mounts all the same, as a client's base URL may name either.
    pub(crate) const fn openai(
        method: RouteMethod,
        path: &'static str,
        handler: BuildHandler,
        operation: Operation,
        names: PathNames,
    ) -> RouteRow {
        RouteRow::for_vendor(ApiMount::OpenAi, method, path, handler, operation, names)
    }

    /// A row of Anthropic's API that has no counterpart in OpenAI's; the same holds for it.
    pub(crate) const fn anthropic(
        method: RouteMethod,
        path: &'static str,
        handler: BuildHandler,
        operation: Operation,
        names: PathNames,
    ) -> RouteRow {
        RouteRow::for_vendor(ApiMount::Anthropic, method, path, handler, operation, names)
    }

    const fn for_vendor(
        vendor: ApiMount,
        method: RouteMethod,
        path: &'static str,
        handler: BuildHandler,
        operation: Operation,
        names: PathNames,
    ) -> RouteRow {
        RouteRow {
            method,
            path,
            mounts: VENDORS_AND_ROOT,
            action: RouteAction::Handler(handler),
            operations: Operations::only(vendor, operation),
            names,
        }
    }

    /// A row of GET outside of the vendors' APIs.
    pub(crate) const fn plain(
        path: &'static str,
        handler: BuildHandler,
        operation: Operation,
        names: PathNames,
    ) -> RouteRow {
        RouteRow {
            method: RouteMethod::Get,
            path,
            mounts: ROOT_ONLY,
            action: RouteAction::Handler(handler),
            operations: Operations::only(ApiMount::Plain, operation),
            names,
        }
    }

    /// The prefixes below which it is served.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &'static str> {
        self.mounts.iter().copied().flatten().copied()
    }

    /// Whether it is served below a prefix.
    pub(crate) fn is_below(&self, prefix: &str) -> bool {
        self.prefixes().any(|own| own == prefix)
    }

    /// Whether it is a WebSocket, to which a plain request is refused.
    pub(crate) fn is_websocket(&self) -> bool {
        let mut operations = self.operations.iter();
        operations.any(|(_, operation)| operation.response == OperationResponse::WebSocket)
    }

    /// The path with its parameters named as in OpenAPI.
    pub(crate) fn documented_path(&self) -> String {
        let mut kinds: &[ObjectKind] = match self.names {
            PathNames::Objects(kinds) => kinds,
            PathNames::OwnList | PathNames::Nothing(_) => &[],
        };
        let mut path = String::new();
        for segment in self.path.split('/').skip(1) {
            path.push('/');
            let parameter = segment
                .strip_prefix('{')
                .and_then(|rest| rest.split_once('}'));
            let Some((name, suffix)) = parameter else {
                path.push_str(segment);
                continue;
            };
            // A name with a star matches the rest of a path.
            let mut name = name.trim_start_matches('*');
            if let [kind, rest @ ..] = kinds {
                (name, kinds) = (kind.parameter(), rest);
            }
            path.push_str(&format!("{{{name}}}{suffix}"));
        }
        path
    }
}
