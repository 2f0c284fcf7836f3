//! The way to a server, for the verbs that need one.
//!
//! It speaks OpenAI's dialect, whose objects name a skill and count its versions, and
//! knows nothing of terminals: what it returns is shown by each verb.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The server that `prowess serve` starts when nothing is said.
const DEFAULT: &str = "http://127.0.0.1:4141";
/// Most skills or versions that a list shows.
const MOST: usize = 100_000;

/// Which server, and as whom.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Remote {
    /// The server; http://127.0.0.1:4141 when left out
    #[arg(long, value_name = "URL", env = "PROWESS_URL")]
    server: Option<String>,
    /// The key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
}

/// A skill as the server tells it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RemoteSkill {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) default_version: String,
    pub(crate) latest_version: String,
    pub(crate) created_at: i64,
}

/// A version as the server tells it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RemoteVersion {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) created_at: i64,
}

#[derive(Debug, Deserialize)]
struct List<T> {
    data: Vec<T>,
    has_more: bool,
    last_id: Option<String>,
}

/// A connection to a server.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

impl Remote {
    /// Another way to say which server, for verbs that have their own flag for it.
    pub(crate) fn at(server: Option<String>, api_key: Option<String>) -> Remote {
        Remote { server, api_key }
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Client> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(300))
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("cannot make an HTTP client")?;
        let base = self.server.as_deref().unwrap_or(DEFAULT);
        let base = base.trim_end_matches('/').trim_end_matches("/v1");
        Ok(Client {
            http,
            base: format!("{base}/openai/v1"),
            key: self.api_key.clone(),
        })
    }
}

/// Runs what a verb does over the network.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(work)
}

impl Client {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request, and turns a refusal into an error that says why.
    pub(crate) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request.send().await.map_err(|error| {
            let base = self.base.trim_end_matches("/openai/v1");
            anyhow::Error::new(error.without_url()).context(format!(
                "cannot reach {base}; is `prowess serve` running there?"
            ))
        })?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(response).await)
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let response = self.send(self.request(Method::GET, path)).await?;
        response
            .json()
            .await
            .context("the server's answer is not what was asked for")
    }

    /// All of a list, page by page.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> anyhow::Result<Vec<T>> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut pairs = query.to_vec();
            pairs.push(("limit", "100"));
            pairs.extend(after.as_deref().map(|id| ("after", id)));
            let path = format!("{path}?{}", encoded(&pairs)?);
            let page: List<T> = self.get(&path).await?;
            items.extend(page.data);
            if !page.has_more || page.last_id.is_none() {
                return Ok(items);
            }
            if items.len() > MOST {
                bail!("the list is longer than {MOST}");
            }
            after = page.last_id;
        }
    }

    /// The skill that an id or a name means.
    pub(crate) async fn find(&self, skill: &str) -> anyhow::Result<RemoteSkill> {
        let is_id = ["skill_", "litellm_skill_", "litellm:"]
            .iter()
            .any(|prefix| skill.starts_with(prefix));
        if is_id {
            return self.get(&format!("/skills/{skill}")).await;
        }
        match self.named(skill).await?.as_slice() {
            [] => bail!("no skill is called `{skill}`"),
            [one] => Ok(one.clone()),
            several => bail!("{}", ambiguous(skill, several)),
        }
    }

    /// All skills of a name.
    pub(crate) async fn named(&self, name: &str) -> anyhow::Result<Vec<RemoteSkill>> {
        self.all("/skills", &[("name", name)]).await
    }
}

/// Why a name is not enough.
pub(crate) fn ambiguous(name: &str, skills: &[RemoteSkill]) -> String {
    let ids: Vec<_> = skills.iter().map(|skill| skill.id.as_str()).collect();
    format!(
        "{} skills are called `{name}`; name one by its id: {}",
        ids.len(),
        ids.join(", ")
    )
}

fn encoded(pairs: &[(&str, &str)]) -> anyhow::Result<String> {
    let url = reqwest::Url::parse_with_params("http://localhost", pairs)?;
    Ok(url.query().unwrap_or_default().to_owned())
}

/// What the server says is wrong, with everything that helps to mend it.
async fn refusal(response: Response) -> anyhow::Error {
    let status = response.status();
    let id = response.headers().get("request-id").cloned();
    let id = id
        .as_ref()
        .and_then(|id| id.to_str().ok())
        .unwrap_or("-")
        .to_owned();
    let body: Value = response.json().await.unwrap_or_default();
    let told = |field: &str| body.pointer(&format!("/error/{field}"))?.as_str();
    let message = told("message").unwrap_or("no reason given");
    let code = told("code").unwrap_or("-");
    anyhow::anyhow!(
        "{message} ({status}, {code}, {id})",
        status = status.as_u16()
    )
}
