//! A server with a model, over a database that outlives the server.

use prowess_testkit::SkillFixture;
use reqwest::Client as Http;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use sqlx::{Connection, Row};
use tempfile::TempDir;

use super::events::{NumberedEvent, parse_events};
use super::model::{CountingModel, prompts};
use super::poll::wait_for;
use super::request::{KeptDialect, in_container};
use crate::server::{MASTER, TestServer};

/// A lease that runs out soon after its server died, and not on a busy machine before.
pub(crate) const SHORT_LEASE: (&str, &str) = ("PROWESS_RUN_LEASE_MS", "2500");

/// A server and what it needs.
pub(crate) struct Bed {
    pub(crate) server: TestServer,
    pub(crate) model: CountingModel,
    pub(crate) skill: String,
    http: Http,
    /// The URL of a PostgreSQL database; SQLite without it.
    database: Option<String>,
    config: TempDir,
}

/// A run as the database has it.
#[derive(Debug, Clone)]
pub(crate) struct StoredRun {
    pub(crate) id: String,
    pub(crate) state: String,
    /// What a client gets that does not stream.
    pub(crate) result: Value,
}

/// Works with a connection to the database of a bed, of either kind.
macro_rules! with_database {
    ($bed:expr, |$connection:ident| $work:expr) => {
        match &$bed.database {
            Some(url) => {
                let mut $connection = sqlx::PgConnection::connect(url).await.unwrap();
                $work
            }
            None => {
                let path = $bed.server.folder().join("data/prowess.db");
                let url = format!("sqlite://{}", path.display());
                let mut $connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
                $work
            }
        }
    };
}

impl Bed {
    /// Starts a server with these variables.
    pub(crate) async fn start(database: Option<String>, variables: &[(&str, &str)]) -> Bed {
        Bed::start_with(database, variables, "").await
    }

    /// The same, with more configuration.
    pub(crate) async fn start_with(
        database: Option<String>,
        variables: &[(&str, &str)],
        more_config: &str,
    ) -> Bed {
        let model = CountingModel::start().await;
        let config = tempfile::tempdir().unwrap();
        let text = format!(
            "[sandbox]\nwarm = 0\n[providers.ant]\nkind = \"anthropic\"\nbase_url = \"{}\"\n\
             api_key = \"k\"\nattempts = 1\n{more_config}",
            model.url()
        );
        std::fs::write(config.path().join("prowess.toml"), text).unwrap();
        let all = all_variables(&config, database.as_deref(), variables);
        let server = TestServer::start(&borrowed(&all));
        let http = Http::builder().no_proxy().build().unwrap();
        let skill = upload_skill(&http, server.url()).await;
        Bed {
            server,
            model,
            skill,
            http,
            database,
            config,
        }
    }

    /// Starts another server over the data of the last one, which has ended or is killed.
    pub(crate) fn restart(&mut self, variables: &[(&str, &str)]) {
        let all = all_variables(&self.config, self.database.as_deref(), variables);
        self.server.kill_and_restart(&borrowed(&all));
    }

    /// Starts a second server over the same data.
    pub(crate) fn start_second(&self, variables: &[(&str, &str)]) -> TestServer {
        let mut all = all_variables(&self.config, self.database.as_deref(), variables);
        let data = self.server.folder().join("data");
        all.push(("PROWESS_DATA_DIR".to_owned(), data.display().to_string()));
        TestServer::start(&borrowed(&all))
    }

    /// Waits until the server has ended by itself.
    pub(crate) async fn wait_for_death(&mut self) {
        let path = format!("/proc/{}/stat", self.server.pid());
        wait_for("the server reaches its fail point", async || {
            let stat = std::fs::read_to_string(&path).unwrap();
            let (_, state) = stat.rsplit_once(") ").unwrap();
            state.starts_with('Z').then_some(())
        })
        .await;
        self.server.wait();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(self.url(path)).bearer_auth(MASTER)
    }

    pub(crate) fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(self.url(path)).bearer_auth(MASTER)
    }

    /// A request of a key.
    pub(crate) fn post_as(&self, key: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.post(self.url(path)).bearer_auth(key);
        request.header("content-type", "application/json")
    }

    /// Creates a key, and returns its id and the key itself.
    pub(crate) async fn create_key(&self, new: Value) -> (String, String) {
        let created = self.post("/v1/admin/keys").body(new.to_string());
        let created = Bed::json(created.header("content-type", "application/json")).await;
        let text = |field: &str| created[field].as_str().unwrap().to_owned();
        (text("id"), text("key"))
    }

    /// The request for a kept run.
    pub(crate) fn kept_request(
        &self,
        dialect: KeptDialect,
        prompt: &str,
    ) -> reqwest::RequestBuilder {
        let body = dialect.body(prompt, &self.skill);
        let mut request = self.post(dialect.path()).body(body.to_string());
        for (name, value) in dialect.headers("the key of this request") {
            request = request.header(name, value);
        }
        request
    }

    /// Sends a request and returns its answer, however it ends.
    pub(crate) fn send_in_background(
        request: reqwest::RequestBuilder,
    ) -> tokio::task::JoinHandle<String> {
        tokio::spawn(async move {
            match request.send().await {
                Ok(response) => response.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            }
        })
    }

    /// The answer of a request that must succeed.
    pub(crate) async fn text(request: reqwest::RequestBuilder) -> String {
        let response = request.send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{status} {text}");
        text
    }

    pub(crate) async fn json(request: reqwest::RequestBuilder) -> Value {
        serde_json::from_str(&Bed::text(request).await).unwrap()
    }

    /// All events of a run, once it has ended.
    pub(crate) async fn events(&self, run: &str) -> Vec<NumberedEvent> {
        parse_events(&Bed::text(self.get(&format!("/v1/runs/{run}/events"))).await)
    }

    /// The runs that the database has.
    pub(crate) async fn runs(&self) -> Vec<StoredRun> {
        let query = "SELECT id, state, result FROM journal_runs ORDER BY created_at";
        fn read<R: Row>(row: &R) -> StoredRun
        where
            for<'a> &'a str: sqlx::ColumnIndex<R>,
            for<'a> String: sqlx::Decode<'a, R::Database> + sqlx::Type<R::Database>,
        {
            let result: Option<String> = row.get("result");
            StoredRun {
                id: row.get("id"),
                state: row.get("state"),
                result: result.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap()),
            }
        }
        with_database!(self, |connection| {
            let rows = sqlx::query(query).fetch_all(&mut connection).await.unwrap();
            rows.iter().map(read).collect()
        })
    }

    /// Executes a statement on the database.
    pub(crate) async fn execute(&self, sql: &'static str) {
        with_database!(self, |connection| {
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        });
    }

    /// Executes a statement with a text as `$1`.
    pub(crate) async fn execute_with(&self, sql: &'static str, text: &str) {
        with_database!(self, |connection| {
            let query = sqlx::query(sql).bind(text);
            query.execute(&mut connection).await.unwrap();
        });
    }

    /// The text that a query returns.
    pub(crate) async fn text_of(&self, sql: &'static str) -> String {
        with_database!(self, |connection| {
            let row = sqlx::query(sql).fetch_one(&mut connection).await;
            row.unwrap().get(0)
        })
    }

    /// The number that a query returns.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        with_database!(self, |connection| {
            let row = sqlx::query(sql).fetch_one(&mut connection).await;
            row.unwrap().get(0)
        })
    }

    /// The only run that the database has.
    pub(crate) async fn only_run(&self) -> StoredRun {
        let mut runs = self.runs().await;
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Waits until the only run has ended.
    pub(crate) async fn ended_run(&self) -> StoredRun {
        wait_for("the run ends", async || {
            let run = self.only_run().await;
            (!["queued", "running"].contains(&run.state.as_str())).then_some(run)
        })
        .await
    }

    /// The files of a container with their kinds, modes and links, and what the log contains.
    pub(crate) async fn files(&self, container: &str) -> String {
        let body = in_container(prompts::INSPECT, container);
        let request = self.post("/v1/messages").body(body.to_string());
        Bed::text(request.header("anthropic-version", "2023-06-01")).await;
        self.model.last_result()
    }

    /// What all requests have used.
    pub(crate) async fn usage(&self) -> Value {
        Bed::json(self.get("/v1/usage")).await["data"].clone()
    }

    /// What each skill took of that, and what no skill took.
    pub(crate) async fn skill_costs(&self) -> Value {
        Bed::json(self.get("/v1/usage?by=skill")).await
    }
}

fn all_variables(
    config: &TempDir,
    database: Option<&str>,
    more: &[(&str, &str)],
) -> Vec<(String, String)> {
    let path = config.path().join("prowess.toml").display().to_string();
    let mut all = vec![("PROWESS_CONFIG".to_owned(), path)];
    all.extend(database.map(|url| ("PROWESS_STORE_URL".to_owned(), url.to_owned())));
    all.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    all
}

fn borrowed(variables: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = variables.iter();
    pairs
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

async fn upload_skill(http: &Http, url: &str) -> String {
    let files = SkillFixture::new("logs").body("Write logs.\n").files();
    let form = files.into_iter().fold(Form::new(), |form, file| {
        let part = Part::bytes(file.1.to_vec()).file_name(format!("logs/{}", file.0));
        form.part("files[]", part)
    });
    let request = http.post(format!("{url}/v1/skills")).bearer_auth(MASTER);
    let made = Bed::json(request.multipart(form)).await;
    made["id"].as_str().unwrap().to_owned()
}
