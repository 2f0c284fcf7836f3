//! `/mcp` of the real server: sessions, tenants, origins, bounds, and an end in good order.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;

use insta::assert_snapshot;
use prowess_testkit::SkillFixture;
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};

const SESSION: &str = "mcp-session-id";

/// A client of the server, with a key.
#[derive(Clone)]
struct Agent {
    http: Client,
    url: String,
    /// Behind the path of the endpoint.
    query: &'static str,
    key: String,
    session: Option<String>,
}

impl Agent {
    fn new(server: &TestServer, key: &str) -> Agent {
        Agent {
            http: Client::new(),
            url: server.url().to_owned(),
            query: "",
            key: key.to_owned(),
            session: None,
        }
    }

    fn request(&self, method: Method) -> reqwest::RequestBuilder {
        let url = format!("{}/mcp{}", self.url, self.query);
        let request = self.http.request(method, url);
        let request = request
            .bearer_auth(&self.key)
            .header("accept", "application/json, text/event-stream");
        match &self.session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    async fn send(&self, message: &Value) -> Response {
        let request = self.request(Method::POST).json(message);
        request.send().await.unwrap()
    }

    /// Begins a session.
    async fn begin(mut self) -> Agent {
        let answer = self.send(&initialize()).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let session = answer.headers()[SESSION].to_str().unwrap().to_owned();
        self.session = Some(session);
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(
            self.send(&notification).await.status(),
            StatusCode::ACCEPTED
        );
        self
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let mut events = Events::from_response(self.send(&message).await);
        loop {
            let message = events.next().await.expect("an answer");
            if message["id"] == 7 {
                return message;
            }
        }
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask("tools/call", params).await["result"].take()
    }

    async fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The stream of notifications.
    async fn listen(&self) -> Events {
        let answer = self.request(Method::GET).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        Events::from_response(answer)
    }

    async fn upload(&self, skill: &SkillFixture) {
        let mut form = Form::new();
        for (path, content, _) in skill.files() {
            let name = format!("{}/{path}", skill.name());
            form = form.part("files[]", Part::bytes(content.to_vec()).file_name(name));
        }
        let request = self.http.post(format!("{}/v1/skills", self.url));
        let request = request
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2023-06-01");
        let answer = request.multipart(form).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{:?}", answer.text().await);
    }
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}})
}

/// The messages of an answer, as they come.
struct Events {
    answer: Response,
    rest: String,
}

impl Events {
    fn from_response(answer: Response) -> Events {
        Events {
            answer,
            rest: String::new(),
        }
    }

    /// The next message; nothing at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((line, rest)) = self.rest.split_once('\n') {
                let data = line
                    .strip_prefix("data:")
                    .unwrap_or_default()
                    .trim()
                    .to_owned();
                self.rest = rest.to_owned();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
            }
            let piece = self.answer.chunk().await.ok()??;
            let text = String::from_utf8(piece.to_vec()).unwrap();
            // An answer may also be one whole message.
            if self.answer.headers()["content-type"] == "application/json" {
                self.rest += &format!("data: {text}\n")
            } else {
                self.rest += &text
            }
        }
    }

    async fn wait_for(&mut self, method: &str) {
        loop {
            let message = self.next().await.expect("the stream goes on");
            if message["method"] == method {
                return;
            }
        }
    }
}

fn greet() -> SkillFixture {
    SkillFixture::new("greet")
        .field(
            "tools",
            "{hello: {description: Say hello., script: hello.py, args: {name: string}}}",
        )
        .file(
            "hello.py",
            "import sys\nprint('hello', sys.argv[1])\nopen('card.txt', 'w').write('hi')",
        )
}

/// A skill with as many tools as a frontmatter can have, whose names differ only in marks that names
/// of tools do not have.
fn toolful(name: &str) -> SkillFixture {
    let tools = (0..2_450_u32).map(|number| {
        let marks = (0..12).map(|bit| if (number >> bit) & 1 == 0 { '-' } else { '_' });
        format!("a{}: {{script: go.py}}", marks.collect::<String>())
    });
    let tools: Vec<String> = tools.collect();
    SkillFixture::new(name)
        .field("tools", &format!("{{{}}}", tools.join(", ")))
        .file("go.py", "")
}

#[tokio::test]
async fn the_tools_of_all_skills_that_a_session_has_are_limited() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    for number in 0..5 {
        agent.upload(&toolful(&format!("skill-{number}"))).await;
    }
    let agent = agent.begin().await;
    for (name, is_whole) in [("skill-0", true), ("skill-4", false)] {
        let loaded = agent.call("load_skill", json!({"name": name})).await;
        let text = loaded["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Tools now available"), "{text}");
        let is_cut = text.contains("of its tools are left out");
        assert_eq!(is_cut, !is_whole, "{text}");
    }
}

#[tokio::test]
async fn a_client_that_lists_tools_only_once_gets_those_of_all_skills_at_once() {
    let server = TestServer::start(&[]);
    let mut agent = Agent::new(&server, MASTER);
    agent.upload(&greet()).await;
    let own = "greet__hello".to_owned();
    assert!(!agent.clone().begin().await.tools().await.contains(&own));
    agent.query = "?own_tools=on-load";
    assert!(!agent.clone().begin().await.tools().await.contains(&own));

    agent.query = "?own_tools=at-once";
    let session = agent.clone().begin().await;
    assert!(session.tools().await.contains(&own));
    let result = session.call(&own, json!({"name": "Ann"})).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("hello Ann"), "{result}");

    agent.query = "?own_tools=never";
    let refused = agent.send(&initialize()).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    let reason = refused.text().await.unwrap();
    assert!(reason.contains("at-once"), "{reason}");
}

#[tokio::test]
async fn schemas_of_tools_have_no_booleans_and_unknown_arguments_are_refused_nevertheless() {
    let server = TestServer::start(&[]);
    let mut agent = Agent::new(&server, MASTER);
    agent.upload(&greet()).await;
    agent.query = "?own_tools=at-once";
    let agent = agent.begin().await;
    let listed = agent.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 3, "{listed}");
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{tool}");
        assert!(schema["properties"].is_object(), "{tool}");
        // Google's client for Python reads an object there, and fails with anything else.
        assert_eq!(schema.get("additionalProperties"), None, "{tool}");
    }
    for (name, arguments) in [
        ("greet__hello", json!({"name": "Ann", "loudly": true})),
        (
            "bash_code_execution",
            json!({"command": "true", "loudly": true}),
        ),
    ] {
        let result = agent.call(name, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("loudly"), "{text}");
    }
}

/// A key of a tenant.
fn key(server: &TestServer, tenant: &str, more: &[&str]) -> String {
    let mut command = prowess(server.folder());
    command.args(["keys", "create", "test", "--tenant", tenant, "--json"]);
    let output = command.args(more).output().unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    made["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_has_tools_files_and_is_notified_of_changes() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    agent.upload(&greet()).await;
    let agent = agent.begin().await;
    let mut stream = agent.listen().await;
    let before = agent.tools().await;
    assert!(
        before.contains(&"bash_code_execution".to_owned()),
        "{before:?}"
    );
    agent.call("load_skill", json!({"name": "greet"})).await;
    stream.wait_for("notifications/tools/list_changed").await;
    let result = agent.call("greet__hello", json!({"name": "Ann"})).await;
    assert_eq!(result["isError"], false, "{result}");
    let made = json!({"uri": "sandbox:/mnt/data/card.txt"});
    let read = agent.ask("resources/read", made.clone()).await;
    assert_eq!(read["result"]["contents"][0]["text"], "hi");

    // Another session has files of its own.
    let other = Agent::new(&server, MASTER).begin().await;
    let none = other.ask("resources/read", made).await;
    assert_eq!(none["error"]["code"], -32002, "{none}");

    // Listening clients are notified of an upload.
    agent.upload(&SkillFixture::new("newcomer")).await;
    for kind in ["tools", "prompts", "resources"] {
        stream
            .wait_for(&format!("notifications/{kind}/list_changed"))
            .await;
    }
    let skills = agent.ask("skills/list", json!({})).await;
    assert_eq!(skills["result"]["skills"].as_array().unwrap().len(), 2);

    // The end of it.
    let ended = agent.request(Method::DELETE).send().await.unwrap();
    assert!(ended.status().is_success(), "{}", ended.status());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(agent.send(&ping).await.status(), StatusCode::NOT_FOUND);
}

/// A message of 2026-07-28, with the headers that go with it.
async fn request_stateless(agent: &Agent, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let named = params["name"].as_str().or(params["uri"].as_str());
    let mut request = agent
        .request(Method::POST)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if let Some(named) = named {
        request = request.header("mcp-name", named);
    }
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut events = Events::from_response(request.json(&message).send().await.unwrap());
    loop {
        let message = events.next().await.expect("an answer");
        if message["id"] == 7 {
            return message;
        }
    }
}

#[tokio::test]
async fn clients_without_sessions_keep_their_files_and_share_them_with_no_other_key() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    agent.upload(&greet()).await;
    let listed = request_stateless(&agent, "skills/list", json!({})).await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let load = json!({"name": "load_skill", "arguments": {"name": "greet"}});
    request_stateless(&agent, "tools/call", load).await;
    let call = json!({"name": "greet__hello", "arguments": {"name": "Ann"}});
    let result = request_stateless(&agent, "tools/call", call).await;
    assert_eq!(result["result"]["isError"], false, "{result}");
    let made = json!({"uri": "sandbox:/mnt/data/card.txt"});
    let read = request_stateless(&agent, "resources/read", made.clone()).await;
    assert_eq!(read["result"]["contents"][0]["text"], "hi", "{read}");
    let other = Agent::new(&server, &key(&server, "default", &[]));
    let none = request_stateless(&other, "resources/read", made).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
}

#[tokio::test]
async fn a_skill_of_one_conversation_does_not_restrict_another_of_the_same_key() {
    let server = TestServer::start(&[]);
    let reader = SkillFixture::new("reader").field("allowed-tools", "Read Grep Glob");
    Agent::new(&server, MASTER).upload(&reader).await;
    let call = async |tool: &str, arguments: Value| {
        let agent = Agent::new(&server, MASTER);
        let params = json!({"name": tool, "arguments": arguments});
        request_stateless(&agent, "tools/call", params).await["result"].take()
    };
    let loaded = call("load_skill", json!({"name": "reader"})).await;
    let text = loaded["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("While you follow `reader`, use only"),
        "{text}"
    );
    let ran = call("bash_code_execution", json!({"command": "echo hi"})).await;
    assert_eq!(ran["isError"], json!(false), "{ran}");
}

#[tokio::test]
async fn tenants_and_keys_are_kept_apart() {
    let server = TestServer::start(&[]);
    let one = Agent::new(&server, &key(&server, "one", &[]));
    let two = Agent::new(&server, &key(&server, "two", &[]));
    one.upload(&greet()).await;
    let one = one.begin().await;
    let skills = one.ask("skills/list", json!({})).await;
    assert_eq!(
        skills["result"]["skills"][0]["frontmatter"]["name"],
        "greet"
    );

    // Another tenant's session, another key's of the same tenant, and one that never was.
    let reader = key(&server, "one", &["--scope", "read"]);
    for key in [&two.key, &reader, &MASTER.to_owned()] {
        let thief = Agent {
            key: key.clone(),
            ..one.clone()
        };
        for method in [Method::GET, Method::DELETE] {
            let answer = thief.request(method).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        }
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(thief.send(&ping).await.status(), StatusCode::NOT_FOUND);
    }
    let two = two.begin().await;
    let none = two.ask("skills/list", json!({})).await;
    assert_eq!(none["result"]["skills"], json!([]));
    let get = json!({"uri": "skill://greet/SKILL.md"});
    assert_eq!(
        two.ask("resources/read", get).await["error"]["code"],
        -32002
    );

    // A key that may only read gets nothing that runs.
    let reader = Agent::new(&server, &reader).begin().await;
    assert_eq!(reader.tools().await, ["load_skill"]);
}

#[tokio::test]
async fn a_key_that_loses_its_scope_runs_no_more_code_in_sessions_that_it_has() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, &key(&server, "one", &[]));
    let session = agent.clone().begin().await;
    assert!(!session.tools().await.is_empty());
    let command = json!({"command": "echo $((6 * 7))"});
    let ran = session.call("bash_code_execution", command.clone()).await;
    assert!(ran.to_string().contains("42"), "{ran}");
    let call = json!({"name": "bash_code_execution", "arguments": command});
    let ran = request_stateless(&agent, "tools/call", call.clone()).await;
    assert!(ran.to_string().contains("42"), "{ran}");

    let keys = format!("{}/v1/admin/keys", server.url());
    let list = agent.http.get(format!("{keys}?tenant=one"));
    let list = list.bearer_auth(MASTER).send().await.unwrap();
    let list: Value = list.json().await.unwrap();
    let id = list["data"][0]["id"].as_str().unwrap();
    let change = agent.http.patch(format!("{keys}/{id}")).bearer_auth(MASTER);
    let changed = change.json(&json!({"scopes": ["read"]})).send().await;
    assert_eq!(changed.unwrap().status(), StatusCode::OK);

    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": &call});
    let refused = session.send(&message).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    let refused = request_stateless(&agent, "tools/call", call).await;
    assert!(!refused.to_string().contains("42"), "{refused}");
    // The tenant has no skills to load.
    assert!(agent.begin().await.tools().await.is_empty());
}

/// Sends a request that is refused, and renders the response.
async fn send_and_render(request: reqwest::RequestBuilder) -> String {
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    let header = |name: &str| {
        let value = headers.get(name)?.to_str().unwrap();
        Some(format!("{name}: {value}\n"))
    };
    let headers = ["www-authenticate", "retry-after"].map(header);
    let headers: String = headers.into_iter().flatten().collect();
    format!("{status}\n{headers}{}\n", answer.text().await.unwrap())
}

#[tokio::test]
async fn who_is_not_let_in_learns_why() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    let url = format!("{}/mcp", server.url());
    let knock = |key: &str| agent.http.post(&url).bearer_auth(key).json(&initialize());
    assert_snapshot!(send_and_render(agent.http.post(&url).json(&initialize())).await, @r#"
    401 Unauthorized
    www-authenticate: Bearer realm="prowess"
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"missing API key: send it in `x-api-key` or as `Authorization: Bearer …`","data":{"code":"key-missing"}}}
    "#);
    assert_snapshot!(send_and_render(knock("wrong")).await, @r#"
    401 Unauthorized
    www-authenticate: Bearer realm="prowess"
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"this API key is unknown, expired or revoked","data":{"code":"key-unknown"}}}
    "#);
    let evil = knock(MASTER).header("origin", "https://evil.example");
    assert_snapshot!(send_and_render(evil).await, @r#"
    403 Forbidden
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"origin `https://evil.example` is not allowed: only pages of this machine and of this server may use it","data":{"code":"origin-refused"}}}
    "#);
    let large = agent.request(Method::POST).body(vec![b' '; 5 << 20]);
    assert_snapshot!(send_and_render(large).await, @r#"
    413 Payload Too Large
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the body has more than 4194304 bytes; send less in one request","data":{"code":"body-too-large"}}}
    "#);
    let slow = key(&server, "default", &["--rpm", "1"]);
    let request = || agent.http.post(&url).bearer_auth(&slow).json(&initialize());
    request().send().await.unwrap();
    let busy = request().send().await.unwrap();
    assert_eq!(busy.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(busy.headers().contains_key("retry-after"));
    let own = knock(MASTER).header("origin", server.url());
    let own = own.header("accept", "application/json, text/event-stream");
    assert_eq!(own.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn who_does_not_keep_to_the_protocol_gets_a_json_rpc_error() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    let url = format!("{}/mcp", server.url());
    let deaf = agent.http.post(&url).bearer_auth(MASTER);
    assert_snapshot!(send_and_render(deaf.json(&initialize())).await, @r#"
    406 Not Acceptable
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Not Acceptable: Client must accept both application/json and text/event-stream","data":{"code":"not-acceptable"}}}
    "#);
    assert_snapshot!(send_and_render(agent.request(Method::POST).body("{}")).await, @r#"
    415 Unsupported Media Type
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Unsupported Media Type: Content-Type must be application/json","data":{"code":"unsupported-media-type"}}}
    "#);
    assert_snapshot!(send_and_render(agent.request(Method::GET)).await, @r#"
    400 Bad Request
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Session ID is required","data":{"code":"bad-request"}}}
    "#);
    let put = agent.request(Method::PUT).header("mcp-session-id", "none");
    assert_snapshot!(send_and_render(put).await, @r#"
    405 Method Not Allowed
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method Not Allowed","data":{"code":"method-not-allowed"}}}
    "#);
}

#[tokio::test]
async fn what_a_session_keeps_of_its_first_message_is_small() {
    let server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER);
    // 40 kB whose values take megabytes, and a long text.
    let mut dense = initialize();
    dense["params"]["capabilities"]["experimental"] = json!({"x": {"y": vec![json!([0]); 10_000]}});
    let mut long = initialize();
    long["params"]["clientInfo"]["name"] = "x".repeat(64 << 10).into();
    for message in [dense, long] {
        let refused = agent.send(&message).await;
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
    agent.begin().await;
}

#[tokio::test]
async fn without_a_master_key_only_this_machine_is_let_in() {
    let server = TestServer::start(&[("PROWESS_MASTER_KEY", "")]);
    let url = format!("{}/mcp", server.url());
    let request = || {
        let request = Client::new().post(&url).json(&initialize());
        request.header("accept", "application/json, text/event-stream")
    };
    assert_eq!(request().send().await.unwrap().status(), StatusCode::OK);
    let local = request().header("origin", "http://localhost:6274");
    assert_eq!(local.send().await.unwrap().status(), StatusCode::OK);
    // A page that made its own name resolve to this machine.
    let rebound = request().header("host", "evil.example");
    assert_snapshot!(send_and_render(rebound.header("origin", "http://evil.example")).await, @r#"
    403 Forbidden
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"host `evil.example` is not local; without a master key the server accepts only requests for localhost: set PROWESS_MASTER_KEY to allow others","data":{"code":"not-local"}}}
    "#);
}

#[tokio::test]
async fn a_tenant_may_have_so_many_sessions_and_others_are_not_harmed() {
    let server = TestServer::start(&[]);
    let one = Agent::new(&server, &key(&server, "one", &[]));
    let mut last = None;
    for _ in 0..100 {
        last = Some(one.clone().begin().await);
    }
    let refused = one.request(Method::POST).json(&initialize());
    assert_snapshot!(send_and_render(refused).await, @r#"
    429 Too Many Requests
    {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the limit of 100 open sessions is reached; close one (DELETE with its Mcp-Session-Id)","data":{"code":"too-many-sessions"}}}
    "#);
    Agent::new(&server, MASTER).begin().await;
    // One that ends makes room, as soon as it has ended.
    let last = last.unwrap();
    last.request(Method::DELETE).send().await.unwrap();
    while one.send(&initialize()).await.status() != StatusCode::OK {}
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn open_streams_and_running_calls_hold_up_no_end() {
    let mut server = TestServer::start(&[]);
    let agent = Agent::new(&server, MASTER).begin().await;
    let mut stream = agent.listen().await;
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params":
        {"name": "bash_code_execution", "arguments": {"command": "echo begun; sleep 3600"},
         "_meta": {"progressToken": "p"}}});
    let mut running = Events::from_response(agent.send(&call).await);
    running.wait_for("notifications/progress").await;
    // The id of a request that is open, which would never be answered.
    let again = agent.ask("ping", json!({})).await;
    assert_eq!(again["error"]["code"], -32600, "{again}");
    let pid = server.pid().to_string();
    let status = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(status.unwrap().success());
    // Both end, and nobody had to be cut off.
    while stream.next().await.is_some() {}
    while running.next().await.is_some() {}
    let ended = tokio::task::spawn_blocking(move || {
        let ended = server.wait();
        (ended, server)
    });
    let (ended, _server) = ended.await.unwrap();
    assert!(ended.success(), "{ended}");
}
