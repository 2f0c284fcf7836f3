//! A key's limits hold for many concurrent requests, and a field that decides a request may
//! occur only once: the real server, and an upstream that responds on demand.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Requests at once.
const MANY_REQUESTS: usize = 30;
/// Far longer than anything here takes, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// 30 tokens in and 10 out: at 3 and 15 a million, 0.00024 in money.
const ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"mo","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}"#;
const EVENTS: &str = concat!(
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mo\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mo\",\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":10,\"total_tokens\":40}}\n\n",
    "data: [DONE]\n\n",
);
const CHAT: &str =
    r#"{"model":"mo","max_tokens":10,"messages":[{"role":"user","content":"Hello"}]}"#;

/// An upstream that holds every answer back until it is opened.
#[derive(Clone, Default)]
struct GatedUpstream(Arc<(Mutex<Gate>, Condvar)>);

#[derive(Default)]
struct Gate {
    open: bool,
    bodies: Vec<String>,
}

impl GatedUpstream {
    fn start() -> (GatedUpstream, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let upstream = GatedUpstream::default();
        let serving = upstream.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let upstream = serving.clone();
                std::thread::spawn(move || while upstream.answer(&stream).is_some() {});
            }
        });
        (upstream, port)
    }

    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let body = read_message(&mut BufReader::new(stream.try_clone().ok()?))?.1;
        let events = body.contains("\"stream\":true");
        let (gate, opened) = &*self.0;
        let mut gate = gate.lock().unwrap();
        gate.bodies.push(body);
        while !gate.open {
            gate = opened.wait(gate).unwrap();
        }
        drop(gate);
        let (kind, text) = if events {
            ("text/event-stream", EVENTS)
        } else {
            ("application/json", ANSWER)
        };
        let length = text.len();
        let head = format!("content-type: {kind}\r\ncontent-length: {length}");
        let mut stream = stream;
        write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{text}").ok()
    }

    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    fn close(&self) {
        self.0.0.lock().unwrap().open = false;
    }

    fn arrived(&self) -> usize {
        self.0.0.lock().unwrap().bodies.len()
    }
}

/// The head and body of a message with a length.
fn read_message(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))?;
    let mut body = vec![0; length.trim().parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}

/// A server before an upstream; killed when dropped.
struct TestServer {
    child: Child,
    address: String,
    upstream: GatedUpstream,
    key: String,
    folder: TempDir,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestServer {
    /// Starts it, with a key of these limits.
    fn start(limits: &[&str]) -> TestServer {
        let (upstream, port) = GatedUpstream::start();
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "[providers.up]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
             api_key = \"k\"\n\n[[models]]\nname = \"mo\"\nprovider = \"up\"\ninput_price = 3\n\
             output_price = 15\n\n[[models]]\nname = \"secret-model\"\nprovider = \"up\"\n\
             input_price = 3\noutput_price = 15\n"
        );
        std::fs::write(folder.path().join("prowess.toml"), config).unwrap();
        let key = create_key(folder.path(), limits);
        let mut child = prowess(folder.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("listening on http://")?;
            Some(address.to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        TestServer {
            child,
            address: address.take().unwrap(),
            upstream,
            key,
            folder,
        }
    }

    fn send(&self, path: &str, body: &str) -> TcpStream {
        self.send_with(&self.key, &format!("POST {path}"), "", body)
    }

    /// Sends a request with another key, or with more headers, each with its end of line.
    fn send_with(&self, key: &str, target: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!(
            "{target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {key}\r\n\
             {headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    }

    fn send_and_read(&self, path: &str, body: &str) -> (u16, String) {
        read_answer(self.send(path, body))
    }

    /// The body of an answer to a request with the server's key.
    fn get(&self, path: &str) -> serde_json::Value {
        let (status, text) = read_answer(self.send_with(&self.key, &format!("GET {path}"), "", ""));
        assert_eq!(status, 200, "{text}");
        body_of(&text)
    }

    /// Waits until what is read at a path is as expected.
    fn wait_until(&self, path: &str, is_reached: impl Fn(&serde_json::Value) -> bool) {
        let until = Instant::now() + TIMEOUT;
        loop {
            let found = self.get(path);
            if is_reached(&found) {
                return;
            }
            assert!(Instant::now() < until, "{found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait_until_arrived(&self, count: usize) {
        let until = Instant::now() + TIMEOUT;
        while self.upstream.arrived() < count {
            assert!(Instant::now() < until, "{}", self.upstream.arrived());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Many ask at once, before any is answered; gives the statuses.
    fn send_many(&self, path: &str, body: &str) -> Vec<u16> {
        let (sender, statuses) = mpsc::channel();
        let before = self.upstream.arrived();
        let arrived = || self.upstream.arrived() - before;
        std::thread::scope(|scope| {
            for _ in 0..MANY_REQUESTS {
                let sender = sender.clone();
                scope.spawn(move || sender.send(self.send_and_read(path, body).0));
            }
            drop(sender);
            let mut all = Vec::new();
            let until = Instant::now() + TIMEOUT;
            // All are either refused or with the upstream.
            while all.len() + arrived() < MANY_REQUESTS && Instant::now() < until {
                all.extend(statuses.recv_timeout(Duration::from_millis(20)));
            }
            self.upstream.open();
            all.extend(statuses);
            all
        })
    }
}

fn prowess(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command
        .env_clear()
        .current_dir(folder)
        .env("PROWESS_DATA_DIR", folder);
    command
}

/// Creates a key of these limits.
fn create_key(folder: &Path, limits: &[&str]) -> String {
    let mut keys = prowess(folder);
    let made = keys.args(["keys", "create", "ci", "--json"]).args(limits);
    let made: serde_json::Value = serde_json::from_slice(&made.output().unwrap().stdout).unwrap();
    let key = made.get("key").and_then(|key| key.as_str());
    key.unwrap().to_owned()
}

/// The status of an answer, and all of it.
fn read_answer(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

fn body_of(answer: &str) -> serde_json::Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|found| **found == status).count()
}

#[test]
fn a_budget_for_two_requests_pays_for_two_of_thirty_at_once() {
    let served = TestServer::start(&["--budget", "0.00048"]);
    let statuses = served.send_many("/v1/chat/completions", CHAT);
    assert_eq!(count(&statuses, 200), 2, "{statuses:?}");
    assert_eq!(count(&statuses, 429), MANY_REQUESTS - 2, "{statuses:?}");
    assert_eq!(served.upstream.arrived(), 2);
    // It is spent now, and not only reserved.
    let (status, text) = served.send_and_read("/v1/chat/completions", CHAT);
    assert_eq!(status, 429);
    assert!(text.contains("insufficient_quota"), "{text}");
}

#[test]
fn a_budget_holds_for_requests_that_are_streamed_and_translated() {
    let served = TestServer::start(&["--budget", "0.00048"]);
    let body = CHAT.replace("\"model\"", "\"stream\":true,\"model\"");
    let statuses = served.send_many("/v1/messages", &body);
    assert_eq!(count(&statuses, 200), 2, "{statuses:?}");
    assert_eq!(served.upstream.arrived(), 2);
}

/// Kept runs that a server runs at once for a tenant.
const PLACES: usize = 16;

#[test]
fn a_budget_for_two_requests_pays_for_two_of_thirty_that_wait_in_the_queue() {
    let served = TestServer::start(&["--budget", "0.00048"]);
    let path = "POST /v1/chat/completions";
    let background = "prowess-keep: background\r\n";
    let other = create_key(served.folder.path(), &[]);
    for _ in 0..PLACES {
        let (status, text) = read_answer(served.send_with(&other, path, background, CHAT));
        assert_eq!(status, 202, "{text}");
    }
    served.wait_until_arrived(PLACES);
    let queued = (0..MANY_REQUESTS / 2).map(|_| {
        let answer = read_answer(served.send_with(&served.key, path, background, CHAT)).1;
        body_of(&answer)["id"].as_str().unwrap().to_owned()
    });
    let queued: Vec<String> = queued.collect();
    // Those whose clients wait for them are queued as well.
    let kept = "prowess-keep: true\r\n";
    let waiting = (queued.len() + 1..=MANY_REQUESTS).map(|number| {
        let sent = served.send_with(&served.key, path, kept, CHAT);
        // Until it is queued, it reserves a part of the budget.
        served.wait_until("/v1/runs?limit=100", |runs| {
            runs["data"].as_array().unwrap().len() == PLACES + number
        });
        sent
    });
    let waiting: Vec<TcpStream> = waiting.collect();
    served.upstream.open();
    let answers: Vec<(u16, String)> = waiting.into_iter().map(read_answer).collect();
    for (status, text) in &answers {
        assert!(
            *status == 200 || (*status == 429 && text.contains("insufficient_quota")),
            "{text}"
        );
    }
    for run in &queued {
        served.wait_until(&format!("/v1/runs/{run}"), |run| !run["ended_at"].is_null());
    }
    let completed = |run: &String| served.get(&format!("/v1/runs/{run}"))["status"] == "completed";
    let paid = queued.iter().filter(|run| completed(run)).count();
    let paid = paid + answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(paid, 2);
    assert_eq!(served.upstream.arrived(), PLACES + 2);
}

#[test]
fn a_budget_for_two_requests_pays_for_two_of_a_batch() {
    let served = TestServer::start(&["--budget", "0.00048"]);
    let requests = (0..MANY_REQUESTS)
        .map(|number| format!("{{\"custom_id\":\"r{number}\",\"params\":{CHAT}}}"));
    let requests: Vec<String> = requests.collect();
    let batch = format!("{{\"requests\":[{}]}}", requests.join(","));
    let (status, text) = served.send_and_read("/v1/messages/batches", &batch);
    assert_eq!(status, 200, "{text}");
    let path = "/v1/messages/batches/".to_owned() + body_of(&text)["id"].as_str().unwrap();
    // Several have become runs before any is answered.
    served.wait_until("/v1/runs?limit=100", |runs| {
        runs["data"].as_array().unwrap().len() > 2
    });
    served.wait_until_arrived(2);
    served.upstream.open();
    served.wait_until(&path, |batch| batch["processing_status"] == "ended");
    let counts = &served.get(&path)["request_counts"];
    assert_eq!(
        (&counts["succeeded"], &counts["errored"]),
        (&2.into(), &(MANY_REQUESTS - 2).into())
    );
    assert_eq!(served.upstream.arrived(), 2);
}

#[test]
fn what_is_stored_of_a_conversation_counts_by_the_limits() {
    for limit in [["--budget", "0.5"], ["--tpm", "150000"]] {
        // Each request counts once by the rate.
        let served = TestServer::start(&[limit[0], limit[1], "--rpm", "40"]);
        served.upstream.open();
        // A hundred thousand tokens, which cost 0.3.
        let long = "x ".repeat(200_000);
        let body = format!(r#"{{"model":"mo","max_output_tokens":10,"input":"{long}"}}"#);
        let (status, text) = served.send_and_read("/v1/responses", &body);
        assert_eq!(status, 200, "{text}");
        let previous = body_of(&text)["id"].clone();
        served.upstream.close();
        let body = format!(
            r#"{{"model":"mo","max_output_tokens":10,"input":"Go","previous_response_id":{previous}}}"#
        );
        let statuses = served.send_many("/v1/responses", &body);
        assert_eq!(count(&statuses, 200), 1, "{limit:?} {statuses:?}");
        assert_eq!(count(&statuses, 429), MANY_REQUESTS - 1, "{statuses:?}");
        assert_eq!(served.upstream.arrived(), 2);
        // Those that were refused have reserved nothing.
        let (status, text) = served.send_and_read("/v1/responses", &body);
        assert_eq!(status, 200, "{text}");
    }
}

#[test]
fn twenty_tokens_a_minute_are_used_by_one_of_thirty_at_once() {
    let served = TestServer::start(&["--tpm", "20"]);
    let statuses = served.send_many("/v1/chat/completions", CHAT);
    assert_eq!(count(&statuses, 200), 1, "{statuses:?}");
    assert_eq!(count(&statuses, 429), MANY_REQUESTS - 1, "{statuses:?}");
}

#[test]
fn all_that_one_request_has_made_counts_by_the_limits() {
    let prompts = [r#""a""#; 90].join(",");
    let texts = format!(r#"{{"model":"mo","max_tokens":10,"prompt":[{prompts}]}}"#);
    let pictures = r#"{"model":"mo","n":10,"prompt":"a cat"}"#;
    for (path, body) in [
        ("/v1/completions", texts.as_str()),
        ("/v1/images/generations", pictures),
    ] {
        let served = TestServer::start(&["--tpm", "1000"]);
        let statuses = served.send_many(path, body);
        assert_eq!(count(&statuses, 200), 1, "{path}: {statuses:?}");
        assert_eq!(served.upstream.arrived(), 1, "{path}");
    }
}

#[test]
fn a_bound_that_is_higher_than_the_limit_can_be_requested_alone() {
    let served = TestServer::start(&["--budget", "0.001", "--tpm", "1000"]);
    let body = CHAT.replace("\"max_tokens\":10", "\"max_tokens\":64000");
    let statuses = served.send_many("/v1/chat/completions", &body);
    assert_eq!(count(&statuses, 200), 1, "{statuses:?}");
    // What the first did not use was given back.
    let (status, text) = served.send_and_read("/v1/chat/completions", &body);
    assert_eq!(status, 200, "{text}");
}

#[test]
fn a_bound_that_is_no_whole_number_holds_back_as_much_as_it_may_mean() {
    for bound in ["1e5", "100000.0", "\"100000\""] {
        let served = TestServer::start(&["--budget", "1"]);
        let body = CHAT.replace("\"max_tokens\":10", &format!("\"max_tokens\":{bound}"));
        let statuses = served.send_many("/v1/chat/completions", &body);
        assert_eq!(count(&statuses, 200), 1, "{bound}: {statuses:?}");
        assert_eq!(
            count(&statuses, 429),
            MANY_REQUESTS - 1,
            "{bound}: {statuses:?}"
        );
    }
}

#[test]
fn names_of_models_that_do_not_exist_count_by_the_rate() {
    let served = TestServer::start(&["--rpm", "3"]);
    let statuses: Vec<u16> = (0..10)
        .map(|number| {
            let body = CHAT.replace("\"mo\"", &format!("\"nobody-{number}\""));
            served.send_and_read("/v1/chat/completions", &body).0
        })
        .collect();
    // One comes back every 20 seconds, which a busy machine may take.
    assert_eq!(statuses.get(..3), Some(&[404; 3][..]), "{statuses:?}");
    assert!(count(&statuses, 429) >= 5, "{statuses:?}");
}

#[test]
fn clients_that_leave_give_back_what_was_held_for_them() {
    let served = TestServer::start(&["--budget", "1", "--tpm", "2000"]);
    let body = CHAT.replace("\"max_tokens\":10", "\"max_tokens\":1900");
    let until = Instant::now() + TIMEOUT;
    for number in 1..=5 {
        // The one before may be seen to have left a little later.
        while served.upstream.arrived() < number {
            assert!(
                Instant::now() < until,
                "request {number} is never let through"
            );
            let mut leaving = served.send("/v1/chat/completions", &body);
            leaving
                .set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            // A refusal comes at once; the upstream's answer never does.
            let _ = leaving.read(&mut [0; 64]);
        }
    }
    served.upstream.open();
    loop {
        let (status, text) = served.send_and_read("/v1/chat/completions", &body);
        if status == 200 {
            break;
        }
        assert!(Instant::now() < until, "{text}");
    }
}

#[test]
fn a_field_that_decides_is_given_once_in_every_dialect() {
    let served = TestServer::start(&["--model", "mo"]);
    served.upstream.open();
    let messages = r#""messages":[{"role":"user","content":"Hello"}]"#;
    for fields in [
        r#""model":"secret-model","model":"mo""#,
        r#""model":"mo","model":"mo""#,
        r#""mod\u0065l":"secret-model","model":"mo""#,
        r#""Model":"secret-model","model":"mo""#,
        r#""model":"mo","stream":false,"stream":true"#,
        r#""model":"mo","max_tokens":1,"max_tokens":100000"#,
        r#""model":"mo","tools":[],"tools":null"#,
        r#""model":"mo","container":"a","container":null"#,
        r#""model":"mo","container":{"id":"a","skills":[],"skills":[]}"#,
        r#""model":"mo","messages":[]"#,
        r#""model":"mo","system":"a","system":"b""#,
        r#""model":"mo","previous_response_id":"a","previous_response_id":null"#,
    ] {
        let body = format!(r#"{{{fields},"input":"Hello","max_output_tokens":5,{messages}}}"#);
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
            let (status, text) = served.send_and_read(path, &body);
            assert_eq!(status, 400, "{path} {fields}: {text}");
            assert!(text.contains("invalid_request_error"), "{text}");
            assert!(text.contains("duplicate field"), "{text}");
        }
    }
    assert_eq!(served.upstream.arrived(), 0);
    let (status, text) = served.send_and_read("/v1/chat/completions", CHAT);
    assert_eq!(status, 200, "{text}");
}

/// Fields of Google's format have two names each; the model is in the path.
#[test]
fn a_field_that_decides_is_given_once_in_googles_format() {
    let served = TestServer::start(&["--model", "mo"]);
    served.upstream.open();
    let contents = r#""contents":[{"role":"user","parts":[{"text":"Hello"}]}]"#;
    for fields in [
        r#""contents":[]"#,
        r#""generationConfig":{"maxOutputTokens":5},"generation_config":{"maxOutputTokens":9000}"#,
        r#""generationConfig":{"maxOutputTokens":5,"max_output_tokens":9000}"#,
        r#""tools":[],"tools":null"#,
    ] {
        let body = format!("{{{fields},{contents}}}");
        for method in ["generateContent", "streamGenerateContent"] {
            let path = format!("/v1beta/models/mo:{method}");
            let (status, text) = served.send_and_read(&path, &body);
            assert_eq!(status, 400, "{path} {fields}: {text}");
            assert!(text.contains("INVALID_ARGUMENT"), "{text}");
            assert!(text.contains("duplicate field"), "{text}");
        }
    }
    assert_eq!(served.upstream.arrived(), 0);
}

#[test]
fn a_field_that_decides_is_given_once_where_nothing_is_generated_and_in_a_batch() {
    let served = TestServer::start(&["--model", "mo"]);
    served.upstream.open();
    let request = CHAT.replace("\"model\"", "\"model\":\"secret-model\",\"model\"");
    let embedding = r#"{"model":"secret-model","model":"mo","input":"Hello"}"#;
    for (path, body) in [
        ("/v1/messages/count_tokens", request.as_str()),
        ("/v1/embeddings", embedding),
    ] {
        let (status, text) = served.send_and_read(path, body);
        assert_eq!(status, 400, "{path}: {text}");
        assert!(text.contains("duplicate field"), "{path}: {text}");
    }
    let batch = format!(r#"{{"requests":[{{"custom_id":"r","params":{request}}}]}}"#);
    let (status, text) = served.send_and_read("/v1/messages/batches", &batch);
    assert_eq!(status, 200, "{text}");
    let path = "/v1/messages/batches/".to_owned() + body_of(&text)["id"].as_str().unwrap();
    served.wait_until(&path, |batch| batch["processing_status"] == "ended");
    let counts = &served.get(&path)["request_counts"];
    assert_eq!(counts["errored"], 1, "{counts}");
    assert_eq!(served.upstream.arrived(), 0);
}

#[test]
fn a_long_name_is_not_repeated_whole() {
    let served = TestServer::start(&[]);
    let name = "x".repeat(1 << 20);
    let body = CHAT.replace("\"mo\"", &format!("\"{name}\""));
    for path in ["/v1/chat/completions", "/v1/messages", "/v1/responses"] {
        let (status, text) = served.send_and_read(path, &body);
        assert_eq!(status, 404, "{path}");
        assert!(text.len() < 2_000, "{path}: {} bytes", text.len());
        assert!(text.contains("xxx…"), "{path}: {text}");
    }
    let served = TestServer::start(&["--model", "mo"]);
    let (status, text) = served.send_and_read("/v1/messages", &body);
    assert_eq!(status, 403, "{text}");
    assert!(text.len() < 2_000, "{} bytes", text.len());
}
