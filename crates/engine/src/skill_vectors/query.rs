//! The vector of a query, if the model returns it in time.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use prowess_store::{Int8Vector, MAX_QUERY_CHARS, QueryVector};
use prowess_wire::embeddings::EmbeddingPurpose;
use tokio::time::Instant;

use super::{EmbeddingModel, SkillEmbedder};

/// How long a call goes on after its query has been answered without it: the vector is then
/// there when the same text is searched for again.
const MAX_CALL_TIME: Duration = Duration::from_secs(10);

impl SkillEmbedder {
    /// The vector of a query; `None` if there is none within the deadline, for whatever
    /// reason.
    pub(super) async fn query_vector(&self, text: &str) -> Option<QueryVector> {
        if text.trim().is_empty() || text.chars().count() > MAX_QUERY_CHARS {
            return None;
        }
        let deadline = Instant::now() + self.0.settings.deadline;
        let model = match self.model() {
            Ok(model) => model,
            // The writer of vectors warns of it, less often.
            Err(error) => {
                tracing::debug!(%error, "the embedding model of skills is not available");
                return None;
            }
        };
        let name = model.name.clone();
        let vector = match self.cached(&name, text) {
            Some(vector) => vector,
            None => self.call(model, text, deadline).await?,
        };
        Some(QueryVector {
            model: name,
            vector,
            wait: deadline.saturating_duration_since(Instant::now()),
        })
    }

    fn cached(&self, model: &str, text: &str) -> Option<Int8Vector> {
        let mut queries = self
            .0
            .queries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queries.get(model, text)
    }

    async fn call(
        &self,
        model: EmbeddingModel,
        text: &str,
        deadline: Instant,
    ) -> Option<Int8Vector> {
        if !self.pause(|pause| pause.is_over()) {
            return None;
        }
        let permit = Arc::clone(&self.0.query_calls).try_acquire_owned().ok()?;
        let (embedder, text) = (self.clone(), text.to_owned());
        let call = tokio::spawn(async move {
            let _permit = permit;
            let call = tokio::time::timeout(MAX_CALL_TIME, embedder.embed_query(&model, text));
            call.await.ok().flatten()
        });
        let in_time = tokio::time::timeout_at(deadline, call).await;
        let vector = in_time.ok().and_then(Result::ok).flatten();
        self.pause(|pause| match vector {
            Some(_) => pause.record_success(),
            None => pause.record_failure(),
        });
        vector
    }

    async fn embed_query(&self, model: &EmbeddingModel, text: String) -> Option<Int8Vector> {
        match model
            .embed(vec![text.clone()], EmbeddingPurpose::Query)
            .await
        {
            Ok(vectors) => {
                let vector = vectors.into_iter().next().flatten()?;
                let mut queries = self
                    .0
                    .queries
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                queries.insert(&model.name, &text, vector.clone());
                Some(vector)
            }
            Err(error) => {
                tracing::warn!(%error, "a query was searched for by its words alone");
                None
            }
        }
    }

    fn pause<T>(&self, use_it: impl FnOnce(&mut super::Pause) -> T) -> T {
        // It guards single assignments.
        use_it(&mut self.0.pause.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
