//! The one path of every search for stored skills that fit a task: of the API, of routing, and
//! of the model's own searches.

use prowess_store::{Error as StoreError, RoutedSkill, SkillSearch, Store, TenantId};

use super::SkillEmbedder;
use crate::engine::Engine;

/// The stored skills that fit a task best, best first: by words, and by vectors if there is a
/// model for them and it responds in time.
pub(crate) async fn search(
    store: &Store,
    embedder: Option<&SkillEmbedder>,
    tenant: &TenantId,
    task: &str,
    limit: usize,
) -> Result<Vec<RoutedSkill>, StoreError> {
    let vector = match embedder {
        Some(embedder) => embedder.query_vector(task).await,
        None => None,
    };
    let search = SkillSearch {
        text: task,
        vector: vector.as_ref(),
    };
    store.route_skills(tenant, search, limit).await
}

impl Engine {
    /// The stored skills of a tenant that fit a task best, best first.
    ///
    /// # Errors
    /// When the task is empty or too long, or the store fails.
    pub async fn search_skills(
        &self,
        tenant: &TenantId,
        task: &str,
        limit: usize,
    ) -> Result<Vec<RoutedSkill>, StoreError> {
        search(self.store(), self.embedder(), tenant, task, limit).await
    }
}
