//! Writes the vectors of stored skills, behind their uploads.
//!
//! What is left to do is in the store: documents without a vector. So nothing is lost when a
//! server ends, and several servers may write at once: what one of them saved, the others find.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prowess_provider::{CallError, RouteError};
use prowess_store::{Error as StoreError, Int8Vector, Store, UnembeddedSkill};
use prowess_wire::embeddings::EmbeddingPurpose;

use super::{EmbeddingModel, SkillEmbedder};
use crate::engine::Engine;

/// Skills of one call: with the longest texts some 18,000 tokens, less than any model's limit.
const BATCH_SKILLS: u32 = 12;
/// How often skills are looked for that another process has uploaded.
const POLL_INTERVAL: Duration = Duration::from_secs(15);
/// After the first failure; doubled by each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Why vectors could not be written. They are written later.
#[derive(Debug, thiserror::Error)]
pub enum SkillVectorsError {
    /// The model is not configured.
    #[error("the embedding model of skills is not available: {0}")]
    Route(#[from] RouteError),
    /// The model failed.
    #[error("the embedding model of skills failed: {0}")]
    Call(#[from] CallError),
    /// The store failed.
    #[error("vectors of skills could not be stored: {0}")]
    Store(#[from] StoreError),
}

impl Engine {
    /// Writes vectors of new skills as long as it is polled. Ends at once if no model is
    /// configured for them.
    pub async fn write_skill_vectors(&self) {
        let Some(embedder) = self.embedder() else {
            return;
        };
        let (store, mut failures) = (self.store(), 0_u32);
        let mut has_started = false;
        loop {
            let written = match has_started {
                true => embedder.write_batch(store).await,
                false => embedder.begin(store).await.map(|()| 1),
            };
            match written {
                Ok(0) => {
                    failures = 0;
                    let new = store.new_documents().notified();
                    let _ = tokio::time::timeout(POLL_INTERVAL, new).await;
                }
                Ok(_) => (has_started, failures) = (true, 0),
                Err(error) => {
                    tracing::warn!(%error, failures, "vectors of skills are written later");
                    let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures));
                    tokio::time::sleep(pause.min(MAX_PAUSE)).await;
                    failures = failures.saturating_add(1);
                }
            }
        }
    }

    /// Writes the vectors of all skills that have none now. Returns how many skills got one.
    ///
    /// # Errors
    /// At the first failure; what was written before stays.
    pub async fn write_missing_vectors(&self) -> Result<u64, SkillVectorsError> {
        let Some(embedder) = self.embedder() else {
            return Ok(0);
        };
        embedder.begin(self.store()).await?;
        let mut all = 0;
        loop {
            match embedder.write_batch(self.store()).await? {
                0 => return Ok(all),
                written => all += written,
            }
        }
    }
}

impl SkillEmbedder {
    /// Takes vectors of another model from skills: they get their own.
    async fn begin(&self, store: &Store) -> Result<(), SkillVectorsError> {
        let model = self.model()?;
        Ok(store.unassign_vectors(&model.name).await?)
    }

    /// Writes some vectors. Returns how many skills are done with.
    async fn write_batch(&self, store: &Store) -> Result<u64, SkillVectorsError> {
        let skills = store.skills_without_vector(BATCH_SKILLS).await?;
        if skills.is_empty() {
            return Ok(0);
        }
        let model = self.model()?;
        let digests: BTreeSet<&str> = skills.iter().map(|skill| skill.digest.as_str()).collect();
        let known = store.embedded_texts(&model.name, &digests).await?;
        // The same text only once.
        let new = skills.iter().filter(|skill| !known.contains(&skill.digest));
        let new: BTreeMap<&str, &str> = new
            .map(|skill| (skill.digest.as_str(), skill.text.as_str()))
            .collect();
        let (vectors, refused) = model.embed_documents(&new).await?;
        store.save_vectors(&model.name, &vectors).await?;
        let is_refused = |skill: &UnembeddedSkill| refused.contains(skill.digest.as_str());
        let (refused, accepted): (Vec<_>, Vec<_>) = skills.iter().cloned().partition(is_refused);
        store.refuse_vectors(&refused).await?;
        let assigned = store.assign_vectors(&model.name, &accepted).await?;
        Ok(assigned + refused.len() as u64)
    }
}

impl EmbeddingModel {
    /// The vectors of some texts, and which texts the model refuses; both by digest.
    async fn embed_documents<'t>(
        &self,
        texts: &BTreeMap<&'t str, &str>,
    ) -> Result<(BTreeMap<&'t str, Int8Vector>, BTreeSet<&'t str>), CallError> {
        let (mut vectors, mut refused) = (BTreeMap::new(), BTreeSet::new());
        if texts.is_empty() {
            return Ok((vectors, refused));
        }
        let all = texts.values().map(|text| (*text).to_owned()).collect();
        match self.embed(all, EmbeddingPurpose::Document).await {
            Ok(embedded) => {
                for (digest, vector) in texts.keys().zip(embedded) {
                    match vector {
                        Some(vector) => drop(vectors.insert(*digest, vector)),
                        None => drop(refused.insert(*digest)),
                    }
                }
            }
            // One of them is at fault; the others must not wait for it.
            Err(error) if is_refusal(&error) => {
                for (digest, text) in texts {
                    let one = vec![(*text).to_owned()];
                    match self.embed(one, EmbeddingPurpose::Document).await {
                        Ok(embedded) => match embedded.into_iter().next().flatten() {
                            Some(vector) => drop(vectors.insert(*digest, vector)),
                            None => drop(refused.insert(*digest)),
                        },
                        Err(error) if is_refusal(&error) => {
                            tracing::warn!(%error, "a skill is found by its words alone");
                            refused.insert(*digest);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok((vectors, refused))
    }
}

/// Whether the text is at fault, and not the provider.
fn is_refusal(error: &CallError) -> bool {
    matches!(error, CallError::Upstream { error, .. } if matches!(error.status, 400 | 413 | 422))
}
