//! A cluster with a model that counts its calls, and what tests ask it.

use std::time::Duration;

use prowess_testkit::SkillFixture;
use prowess_testkit::fleet::{Fleet, FleetPlan};
use reqwest::multipart::{Form, Part};
use reqwest::{Client as Http, RequestBuilder};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection, Row};

use crate::durable::bed::{Bed, StoredRun};
use crate::durable::model::{CountingModel, prompts};
use crate::durable::observation::container_id;
use crate::durable::poll::wait_for;
use crate::durable::request::KeptDialect;

/// A cluster and its model.
pub(crate) struct ClusterBed {
    pub(crate) fleet: Fleet,
    pub(crate) model: CountingModel,
    pub(crate) skill: String,
    http: Http,
}

/// What a foreground run gave its client.
pub(crate) struct ScriptAnswer {
    pub(crate) container: String,
    pub(crate) response: Value,
    /// What the last command wrote, as the model saw it.
    pub(crate) output: String,
}

impl ClusterBed {
    /// Three gateways and three workers.
    pub(crate) async fn start() -> ClusterBed {
        ClusterBed::start_with("", |plan| plan).await
    }

    /// The same, with more configuration of the gateways, and with changes of the plan.
    pub(crate) async fn start_with(
        more_config: &str,
        change: impl FnOnce(FleetPlan) -> FleetPlan,
    ) -> ClusterBed {
        let model = CountingModel::start().await;
        let config = format!(
            "[providers.ant]\nkind = \"anthropic\"\nbase_url = \"{}\"\napi_key = \"{PROVIDER_KEY}\"\n\
             attempts = 1\n{more_config}",
            model.url()
        );
        let plan = change(FleetPlan::new(env!("CARGO_BIN_EXE_prowess"), config));
        let start = tokio::task::spawn_blocking(move || Fleet::start(plan));
        let fleet = start.await.unwrap();
        let http = Http::builder().no_proxy().build().unwrap();
        let skill = upload_skill(&http, &fleet.gateways[0].url()).await;
        let bed = ClusterBed {
            fleet,
            model,
            skill,
            http,
        };
        bed.wait_for_workers().await;
        // It begins with no gateway, and checks them each in its own time.
        bed.wait_for_haproxy().await;
        bed
    }

    /// Waits until every gateway has heard of every worker.
    async fn wait_for_workers(&self) {
        for gateway in &self.fleet.gateways {
            wait_for("a gateway knows all workers", async || {
                let workers = self.status(&gateway.url()).await["workers"].clone();
                let known = workers.as_array().map_or(0, Vec::len);
                (known == self.fleet.workers.len()).then_some(())
            })
            .await;
        }
    }

    /// Waits until HAProxy has found a gateway that is ready.
    pub(crate) async fn wait_for_haproxy(&self) {
        wait_for("HAProxy has found a gateway", async || {
            let response = self.get(&self.fleet.url(), "/readyz").send().await;
            response.ok()?.error_for_status().ok().map(drop)
        })
        .await;
    }

    /// Waits until every webhook was sent, and every gateway knows that its own were.
    pub(crate) async fn wait_for_sent_webhooks(&self) {
        wait_for("all webhooks are sent", async || {
            let query = sqlx::query("SELECT COUNT(*) AS count FROM webhook_deliveries");
            let row = query.fetch_one(&mut self.database().await).await;
            let count: i64 = row.unwrap().get("count");
            (count == 0).then_some(())
        })
        .await;
    }

    /// What a gateway knows of the cluster.
    pub(crate) async fn status(&self, url: &str) -> Value {
        Bed::json(self.get(url, "/v1/admin/cluster")).await
    }

    pub(crate) fn get(&self, url: &str, path: &str) -> RequestBuilder {
        let request = self.http.get(format!("{url}{path}"));
        request.bearer_auth(Fleet::MASTER)
    }

    pub(crate) fn post(&self, url: &str, path: &str) -> RequestBuilder {
        let request = self.http.post(format!("{url}{path}"));
        request.bearer_auth(Fleet::MASTER)
    }

    /// A request of a key.
    pub(crate) fn post_as(&self, key: &str, url: &str, path: &str) -> RequestBuilder {
        self.http.post(format!("{url}{path}")).bearer_auth(key)
    }

    /// A foreground run of these commands, one in each turn; in a new container with the skill, or
    /// in one that exists.
    pub(crate) fn script_request(
        &self,
        url: &str,
        container: Option<&str>,
        commands: &[&str],
    ) -> RequestBuilder {
        let container = match container {
            Some(id) => json!(id),
            None => json!({"skills": [{"type": "custom", "skill_id": self.skill}]}),
        };
        let body = json!({
            "model": "ant/m", "max_tokens": 100, "container": container,
            "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
            "messages": [{"role": "user", "content": script(commands)}],
        });
        let request = self.post(url, "/v1/messages").body(body.to_string());
        request.header("anthropic-version", "2023-06-01")
    }

    /// Runs commands in the foreground; the run must succeed. Only one at a time: the model keeps
    /// the last output of all.
    pub(crate) async fn script(
        &self,
        url: &str,
        container: Option<&str>,
        commands: &[&str],
    ) -> ScriptAnswer {
        let response = Bed::json(self.script_request(url, container, commands)).await;
        ScriptAnswer {
            container: container_id(&response),
            output: self.model.last_result(),
            response,
        }
    }

    /// The request for a kept run with this idempotency key, streamed by the Messages API.
    pub(crate) fn kept_request(&self, url: &str, prompt: &str, key: &str) -> RequestBuilder {
        let body = KeptDialect::Messages.body(prompt, &self.skill);
        let mut request = self.post(url, KeptDialect::Messages.path());
        for (name, value) in KeptDialect::Messages.headers(key) {
            request = request.header(name, value);
        }
        request.body(body.to_string())
    }

    /// A connection to the database, past all proxies.
    pub(crate) async fn database(&self) -> PgConnection {
        let database = self.fleet.database();
        PgConnection::connect(database).await.unwrap()
    }

    /// The kept run of an idempotency key, if the database has it.
    pub(crate) async fn kept_run(&self, key: &str) -> Option<StoredRun> {
        let query = "SELECT id, state, result FROM journal_runs WHERE idempotency_key = $1";
        // As the server stores what clients sent.
        let query = sqlx::query(query).bind(format!("client:{key}"));
        let row = query.fetch_optional(&mut self.database().await).await;
        let row = row.unwrap()?;
        let result: Option<String> = row.get("result");
        Some(StoredRun {
            id: row.get("id"),
            state: row.get("state"),
            result: result.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap()),
        })
    }

    /// The kept run of an idempotency key, once it has ended.
    pub(crate) async fn ended_run(&self, key: &str) -> StoredRun {
        wait_for("the run ends", async || {
            let run = self.kept_run(key).await?;
            (!["queued", "running"].contains(&run.state.as_str())).then_some(run)
        })
        .await
    }

    /// The committed files of a container: path, mode, and the digest of the content or the target
    /// of the link.
    pub(crate) async fn files(&self, container: &str) -> Vec<String> {
        files_of(&mut self.database().await, container).await
    }

    /// The worker that ran the last command of a container.
    pub(crate) async fn last_worker(&self, container: &str) -> String {
        let query = sqlx::query("SELECT worker FROM cluster_containers WHERE id = $1");
        let row = query
            .bind(container)
            .fetch_one(&mut self.database().await)
            .await;
        row.unwrap().get("worker")
    }

    /// The place of a worker in the fleet.
    pub(crate) fn worker_number(&self, name: &str) -> usize {
        let mut workers = self.fleet.workers.iter();
        workers.position(|worker| worker.name() == name).unwrap()
    }
}

/// The same, by a connection that is used again.
pub(crate) async fn files_of(database: &mut PgConnection, container: &str) -> Vec<String> {
    let query = "SELECT path || ' ' || mode || ' ' || COALESCE(digest, target, '') AS line \
            FROM container_files WHERE container = $1 ORDER BY path";
    let query = sqlx::query(query).bind(container);
    let rows = query.fetch_all(database).await.unwrap();
    rows.iter().map(|row| row.get("line")).collect()
}

/// The key of the model's provider, which only gateways have.
pub(crate) const PROVIDER_KEY: &str = "CANARY-provider-key";

/// A prompt that makes the model call these commands, one in each turn.
pub(crate) fn script(commands: &[&str]) -> String {
    let hex = |command: &&str| -> String {
        let bytes = command.bytes();
        bytes.map(|byte| format!("{byte:02x}")).collect()
    };
    let commands: Vec<String> = commands.iter().map(hex).collect();
    format!("{} {}", prompts::SCRIPT, commands.join("."))
}

/// Sends the request for a kept run until its response has come whole, as its client does.
pub(crate) async fn send_until_whole(request: RequestBuilder) -> String {
    loop {
        if let Ok(response) = request.try_clone().unwrap().send().await {
            let (status, text) = (response.status(), response.text().await);
            let text = text.unwrap_or_default();
            if text.contains("event: message_stop") {
                return text;
            }
            assert!(!status.is_client_error(), "{status} {text}");
        }
        // A gateway may be starting.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn upload_skill(http: &Http, url: &str) -> String {
    let files = SkillFixture::new("logs").body("Write logs.\n").files();
    let form = files.into_iter().fold(Form::new(), |form, file| {
        let part = Part::bytes(file.1.to_vec()).file_name(format!("logs/{}", file.0));
        form.part("files[]", part)
    });
    let request = http.post(format!("{url}/v1/skills"));
    let request = request.bearer_auth(Fleet::MASTER).multipart(form);
    Bed::json(request).await["id"].as_str().unwrap().to_owned()
}
