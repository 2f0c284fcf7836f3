//! What the providers list themselves: asked for now and then, all at once.
//!
//! A provider that fails or is slow keeps its last list, or is left out; the list of
//! models never fails because of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use prowess_provider::{Caller, ModelEntry, Providers};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long lists are believed.
const FRESH: Duration = Duration::from_secs(300);
/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Models taken of one provider.
const MAX_MODELS: usize = 2_000;

/// The lists of all providers, as of a while ago.
#[derive(Default)]
pub(crate) struct UpstreamLists(Mutex<Known>);

#[derive(Default)]
struct Known {
    at: Option<Instant>,
    lists: HashMap<String, Vec<ModelEntry>>,
    all: Arc<[ModelEntry]>,
}

impl UpstreamLists {
    /// All models, as `provider/model`, by provider. Whoever comes while they are asked
    /// for waits for the same answer.
    pub(crate) async fn get(&self, providers: &Providers) -> Arc<[ModelEntry]> {
        let mut known = self.0.lock().await;
        if known.at.is_some_and(|at| at.elapsed() < FRESH) {
            return known.all.clone();
        }
        let names = providers.names();
        let lists = join_all(names.iter().map(|name| list(providers, name))).await;
        for (name, list) in names.iter().zip(lists) {
            if let Some(list) = list {
                known.lists.insert(name.clone(), list);
            }
        }
        let all = names.iter().filter_map(|name| known.lists.get(name));
        known.all = all.flatten().cloned().collect();
        known.at = Some(Instant::now());
        known.all.clone()
    }
}

/// What one provider lists; nothing when it does not, or not in time.
async fn list(providers: &Providers, name: &str) -> Option<Vec<ModelEntry>> {
    let nobody = Caller::default();
    let listed = tokio::time::timeout(PATIENCE, providers.upstream_models(name, &nobody)).await;
    match listed {
        Ok(Ok(models)) => Some(
            models
                .into_iter()
                .take(MAX_MODELS)
                .map(|model| ModelEntry {
                    name: format!("{name}/{}", model.id),
                    provider: name.to_owned(),
                })
                .collect(),
        ),
        Ok(Err(error)) => {
            tracing::debug!(provider = name, %error, "lists no models");
            None
        }
        Err(_) => {
            tracing::warn!(provider = name, "did not list its models in time");
            None
        }
    }
}
