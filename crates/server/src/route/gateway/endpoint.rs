//! The endpoint of a call to a model. The route table has one per path.

use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;

use crate::google::ModelPath;

/// The client dialect and task of a path.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(super) client: ClientDialect,
    pub(super) task: ModelTask,
    /// The model and method, where the path contains them.
    pub(super) path: Option<ModelPath>,
    /// The methods of the path, for a 405 response.
    pub(super) allowed_methods: &'static str,
}

impl Endpoint {
    /// For a model that the body names.
    pub(crate) const fn new(client: ClientDialect, task: ModelTask) -> Endpoint {
        Endpoint {
            client,
            task,
            path: None,
            allowed_methods: "POST",
        }
    }

    /// For a model that the path names, as in Google's API.
    pub(crate) fn for_model_path(path: ModelPath) -> Endpoint {
        let task = path.method.task();
        Endpoint {
            path: Some(path),
            ..Endpoint::new(ClientDialect::Gemini, task)
        }
    }

    /// With other routes at the same path.
    pub(crate) fn with_allowed_methods(self, allowed_methods: &'static str) -> Endpoint {
        Endpoint {
            allowed_methods,
            ..self
        }
    }

    /// The dialect of the client.
    pub(crate) fn client(&self) -> ClientDialect {
        self.client
    }

    /// The route pattern, where it is not the path itself.
    pub(crate) fn route(&self) -> Option<&'static str> {
        self.path.as_ref().map(|path| path.method.route())
    }
}
