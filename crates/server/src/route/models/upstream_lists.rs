//! Model lists of the providers: fetched occasionally, all at once.
//!
//! A provider that fails or is slow keeps its last list, or is omitted; the model list never
//! fails because of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use prowess_provider::{ClientCredentials, ModelEntry, Providers};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long lists are cached.
const CACHE_TTL: Duration = Duration::from_secs(300);
/// How long a provider may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// Models of one provider at most.
const MAX_MODELS_PER_PROVIDER: usize = 2_000;

/// The cached lists of all providers.
#[derive(Default)]
pub(crate) struct UpstreamModelLists(Mutex<CachedLists>);

#[derive(Default)]
struct CachedLists {
    fetched_at: Option<Instant>,
    lists: HashMap<String, Vec<ModelEntry>>,
    all: Arc<[ModelEntry]>,
}

impl UpstreamModelLists {
    /// All models, as `provider/model`, by provider. Concurrent callers wait for the same
    /// fetch.
    pub(crate) async fn get(&self, providers: &Providers) -> Arc<[ModelEntry]> {
        let mut cached = self.0.lock().await;
        if cached.fetched_at.is_some_and(|at| at.elapsed() < CACHE_TTL) {
            return cached.all.clone();
        }
        let names = providers.names();
        let lists = join_all(names.iter().map(|name| fetch_list(providers, name))).await;
        for (name, list) in names.iter().zip(lists) {
            if let Some(list) = list {
                cached.lists.insert(name.clone(), list);
            }
        }
        let all = names.iter().filter_map(|name| cached.lists.get(name));
        cached.all = all.flatten().cloned().collect();
        cached.fetched_at = Some(Instant::now());
        cached.all.clone()
    }
}

/// The models of one provider; none when it fails or times out.
async fn fetch_list(providers: &Providers, name: &str) -> Option<Vec<ModelEntry>> {
    let no_credentials = ClientCredentials::default();
    let listed = tokio::time::timeout(
        LIST_TIMEOUT,
        providers.upstream_models(name, &no_credentials),
    )
    .await;
    match listed {
        Ok(Ok(models)) => Some(
            models
                .into_iter()
                .take(MAX_MODELS_PER_PROVIDER)
                .map(|model| ModelEntry {
                    name: format!("{name}/{}", model.id),
                    provider: name.to_owned(),
                })
                .collect(),
        ),
        Ok(Err(error)) => {
            tracing::debug!(provider = name, %error, "cannot list a provider's models");
            None
        }
        Err(_) => {
            tracing::warn!(provider = name, "timed out listing a provider's models");
            None
        }
    }
}
