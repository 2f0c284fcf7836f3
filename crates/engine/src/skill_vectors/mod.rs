//! Vectors for the search of stored skills, from the operator's embedding model.
//!
//! Searching never depends on that model: if it is slow, fails or is not configured, words
//! alone decide. Only the first model of its route is called, as vectors of different models
//! cannot be compared. How vectors are stored and compared is the task of `prowess-store` and
//! `prowess-ranking`.
//!
//! | module | owns |
//! |---|---|
//! | `search` | the one path of every search for stored skills |
//! | `query` | the vector of a query, within its deadline |
//! | `query_cache` | the vectors of the latest queries |
//! | `pause` | how long a model that failed is not called |
//! | `writer` | the vectors of stored skills, in the background |

mod pause;
mod query;
mod query_cache;
pub(crate) mod search;
mod writer;

use std::sync::{Arc, Mutex};

use prowess_provider::{CallError, ClientCredentials, Providers, Route, RouteError};
use prowess_store::Int8Vector;
use prowess_wire::embeddings::{EmbeddingPurpose, EmbeddingRequest};
use tokio::sync::Semaphore;

use self::pause::Pause;
use self::query_cache::QueryCache;
pub use self::writer::SkillVectorsError;
use crate::settings::EmbeddingSettings;

/// Calls for queries that are in progress at the same time.
const MAX_QUERY_CALLS: usize = 16;

/// The embedding model. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct SkillEmbedder(Arc<EmbedderState>);

#[derive(Debug)]
struct EmbedderState {
    providers: Providers,
    settings: EmbeddingSettings,
    queries: Mutex<QueryCache>,
    pause: Mutex<Pause>,
    query_calls: Arc<Semaphore>,
}

/// A model that makes vectors.
struct EmbeddingModel {
    route: Route,
    /// Identifies the model: vectors of another are not compared with its own.
    name: String,
}

impl SkillEmbedder {
    pub(crate) fn new(providers: Providers, settings: EmbeddingSettings) -> Self {
        SkillEmbedder(Arc::new(EmbedderState {
            providers,
            settings,
            queries: Mutex::default(),
            pause: Mutex::default(),
            query_calls: Arc::new(Semaphore::new(MAX_QUERY_CALLS)),
        }))
    }

    fn model(&self) -> Result<EmbeddingModel, RouteError> {
        let route = self.0.providers.route(&self.0.settings.model)?;
        let route = route.without_fallbacks();
        let name = match route.targets().first() {
            Some(target) => format!("{}/{}", target.provider(), target.model()),
            None => String::new(),
        };
        Ok(EmbeddingModel { route, name })
    }
}

impl EmbeddingModel {
    /// One vector per text; `None` for one without a direction.
    async fn embed(
        &self,
        texts: Vec<String>,
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Option<Int8Vector>>, CallError> {
        let request = EmbeddingRequest::new(texts, purpose);
        let credentials = ClientCredentials::default();
        let reply = self.route.embed(&request, &credentials).await?;
        let vectors = reply.response.vectors.iter();
        Ok(vectors.map(|vector| Int8Vector::new(vector)).collect())
    }
}
