//! What a store is asked, directly and through the server's routes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use prowess_server::{App, Front, Settings};
use prowess_store::{
    Cursor, PageRequest, Position, SkillFilter, Store, StoreConfig, TenantId, VersionSelector,
};
use tower::ServiceExt as _;

use super::fill::Filled;

/// One line of the table.
pub(crate) struct Question {
    pub(crate) name: &'static str,
    kind: Kind,
}

enum Kind {
    List,
    ListFromTheMiddle,
    Get,
    ResolveCold,
    Search(&'static str),
    Http(&'static str),
}

const fn question(name: &'static str, kind: Kind) -> Question {
    Question { name, kind }
}

/// `{id}` stands for the id of a skill.
pub(crate) const QUESTIONS: [Question; 12] = [
    question("list, first page", Kind::List),
    question("list, from the middle", Kind::ListFromTheMiddle),
    question("get", Kind::Get),
    question("resolve, not remembered", Kind::ResolveCold),
    question("search, a word of one skill", Kind::Search("skill77x")),
    question("search, a word of a tenth", Kind::Search("quarterly")),
    question("search, a word of all", Kind::Search("documents")),
    question("search, a beginning", Kind::Search("docum")),
    question("search, two words", Kind::Search("documents topic7x")),
    question("HTTP list", Kind::Http("/v1/skills")),
    question("HTTP get", Kind::Http("/v1/skills/{id}")),
    question("HTTP search", Kind::Http("/v1/skills?query=documents")),
];

/// A store that is asked.
pub(crate) struct Subject {
    store: Store,
    /// Remembers nothing, so that every resolving asks the database.
    forgetful: Store,
    front: Front,
    tenant: TenantId,
    ids: Vec<String>,
}

impl Subject {
    pub(crate) async fn open(filled: Filled) -> Result<Subject> {
        let config = StoreConfig::local(&filled.folder);
        let forgetful = StoreConfig {
            freshness: Duration::ZERO,
            cache_bytes: 0,
            ..config.clone()
        };
        let store = Store::open(&config).await?;
        Ok(Subject {
            front: App::new(store.clone(), Settings::default()).front(),
            store,
            forgetful: Store::open(&forgetful).await?,
            tenant: TenantId::default_tenant(),
            ids: filled.ids,
        })
    }

    /// Asks once, about another skill each round, and says how long the answer took.
    pub(crate) async fn ask(&self, question: &Question, round: usize) -> Result<Duration> {
        let id = self.ids.get(round % self.ids.len()).context("no skills")?;
        let (store, tenant) = (&self.store, &self.tenant);
        let page = |from| PageRequest {
            from,
            ..PageRequest::default()
        };
        let start = Instant::now();
        match question.kind {
            Kind::List => {
                let filter = SkillFilter::default();
                let found = store
                    .list_skills(tenant, &filter, &page(Position::Start))
                    .await?;
                ensure!(found.items.len() == 20, "the list is short");
            }
            Kind::ListFromTheMiddle => {
                let filter = SkillFilter::default();
                let from = Position::After(Cursor::at(id));
                store.list_skills(tenant, &filter, &page(from)).await?;
            }
            Kind::Get => drop(store.skill(tenant, id).await?),
            Kind::ResolveCold => {
                let latest = VersionSelector::Latest;
                drop(self.forgetful.resolve(tenant, id, &latest).await?);
            }
            Kind::Search(words) => {
                let start = page(Position::Start);
                let found = store.search_skills(tenant, words, &start).await?;
                ensure!(!found.items.is_empty(), "`{words}` finds nothing");
            }
            Kind::Http(path) => self.fetch(&path.replace("{id}", id)).await?,
        }
        Ok(start.elapsed())
    }

    async fn fetch(&self, path: &str) -> Result<()> {
        let request = Request::get(path)
            .header("host", "127.0.0.1")
            .header("anthropic-version", "2023-06-01")
            .body(Body::empty())?;
        let response = self.front.clone().oneshot(request).await?;
        ensure!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        response.into_body().collect().await?;
        Ok(())
    }
}
