//! Queries on a store, directly and through the server's routes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use prowess_server::{App, HttpService, ServerSettings};
use prowess_store::{
    PageCursor, PagePosition, PageRequest, SkillFilter, Store, StoreConfig, TenantId,
    VersionSelector,
};
use tower::ServiceExt as _;

use super::fill::FilledStore;

/// One line of the table.
pub(crate) struct StoreQuery {
    pub(crate) name: &'static str,
    kind: QueryKind,
}

enum QueryKind {
    List,
    ListFromTheMiddle,
    Get,
    ResolveCold,
    Search(&'static str),
    Http(&'static str),
}

const fn query(name: &'static str, kind: QueryKind) -> StoreQuery {
    StoreQuery { name, kind }
}

/// `{id}` stands for the id of a skill.
pub(crate) const QUERIES: [StoreQuery; 12] = [
    query("list, first page", QueryKind::List),
    query("list, from the middle", QueryKind::ListFromTheMiddle),
    query("get", QueryKind::Get),
    query("resolve, not cached", QueryKind::ResolveCold),
    query("search, a word in one skill", QueryKind::Search("skill77x")),
    query(
        "search, a word in a tenth of them",
        QueryKind::Search("quarterly"),
    ),
    query("search, a word in all", QueryKind::Search("documents")),
    query(
        "search, a sentence",
        QueryKind::Search(
            "Please handle the quarterly documents of topic7x, with word12, word40 and word300",
        ),
    ),
    query("search, two words", QueryKind::Search("documents topic7x")),
    query("HTTP list", QueryKind::Http("/v1/skills")),
    query("HTTP get", QueryKind::Http("/v1/skills/{id}")),
    query("HTTP search", QueryKind::Http("/v1/skills?query=documents")),
];

/// A store that is measured.
pub(crate) struct QueriedStore {
    store: Store,
    /// Without cache, so that every resolution queries the database.
    uncached: Store,
    service: HttpService,
    tenant: TenantId,
    ids: Vec<String>,
}

impl QueriedStore {
    pub(crate) async fn open(filled: FilledStore) -> Result<QueriedStore> {
        let config = StoreConfig::local(&filled.folder);
        let forgetful = StoreConfig {
            freshness: Duration::ZERO,
            cache_bytes: 0,
            ..config.clone()
        };
        let store = Store::open(&config).await?;
        Ok(QueriedStore {
            service: App::new(store.clone(), ServerSettings::default()).service(),
            store,
            uncached: Store::open(&forgetful).await?,
            tenant: TenantId::default_tenant(),
            ids: filled.ids,
        })
    }

    /// Runs a query once, for another skill each round, and returns its duration.
    pub(crate) async fn run_query(&self, question: &StoreQuery, round: usize) -> Result<Duration> {
        let id = self.ids.get(round % self.ids.len()).context("no skills")?;
        let (store, tenant) = (&self.store, &self.tenant);
        let page = |from| PageRequest {
            from,
            ..PageRequest::default()
        };
        let start = Instant::now();
        match question.kind {
            QueryKind::List => {
                let filter = SkillFilter::default();
                let found = store
                    .list_skills(tenant, &filter, &page(PagePosition::Start))
                    .await?;
                ensure!(found.items.len() == 20, "the list is short");
            }
            QueryKind::ListFromTheMiddle => {
                let filter = SkillFilter::default();
                let from = PagePosition::After(PageCursor::from_id(id));
                store.list_skills(tenant, &filter, &page(from)).await?;
            }
            QueryKind::Get => drop(store.skill(tenant, id).await?),
            QueryKind::ResolveCold => {
                let latest = VersionSelector::Latest;
                drop(self.uncached.resolve(tenant, id, &latest).await?);
            }
            QueryKind::Search(words) => {
                let start = page(PagePosition::Start);
                let found = store.search_skills(tenant, words, &start).await?;
                ensure!(!found.items.is_empty(), "`{words}` finds nothing");
            }
            QueryKind::Http(path) => self.fetch(&path.replace("{id}", id)).await?,
        }
        Ok(start.elapsed())
    }

    async fn fetch(&self, path: &str) -> Result<()> {
        let request = Request::get(path)
            .header("host", "127.0.0.1")
            .header("anthropic-version", "2023-06-01")
            .body(Body::empty())?;
        let response = self.service.clone().oneshot(request).await?;
        ensure!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        response.into_body().collect().await?;
        Ok(())
    }
}
