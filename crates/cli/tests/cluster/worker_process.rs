//! One `prowess worker` alone with a NATS server: it announces itself, runs a command, has no
//! secret, drains, and sends its last spans before it ends.

use std::process::Command;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use prowess_bus::{Bus, NatsSettings, Subscription};
use prowess_sandbox::{Command as SandboxCommand, Policy, Snapshot, new_container_id};
use prowess_testkit::nats::Nats;
use prowess_testkit::watched::WatchedProcess;
use prowess_worker::protocol::{
    CommandRequest, ExecRequest, WorkerBeat, WorkerReply, WorkerRequest, beats_subject, decode,
    encode, gateway_inbox_prefix, requests_subject,
};
use tempfile::TempDir;

use crate::spans;

const CANARY: &str = "canary-of-a-provider";
/// A gateway's span of a command.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// The permissions that docs recommend.
const NATS_CONFIG: &str = "authorization { users = [
  { user: gateway, password: g, permissions: { publish: \"prowess.>\", subscribe: \"prowess.>\" } }
  { user: w-1, password: w, permissions: { subscribe: \"prowess.w.w-1.>\",
    publish: \"prowess.hb.w\", allow_responses: { max: -1, expires: \"30m\" } } }
] }";

struct RunningWorker {
    process: WatchedProcess,
    health: String,
    _folder: TempDir,
}

impl RunningWorker {
    fn start(nats: &Nats, collector: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let config = format!(
            "[cluster]\nnats = \"{}\"\nuser = \"w-1\"\npassword = \"w\"\n\
             [worker]\nid = \"w-1\"\nslots = 2\n[sandbox]\nreduced = true\n\
             [telemetry]\notlp_endpoint = \"{collector}\"\n",
            nats.url()
        );
        std::fs::write(folder.path().join("worker.toml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .args(["worker", "--config", "worker.toml", "--state", "state"])
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(folder.path())
            .env("PROWESS_DATA_DIR", folder.path().join("data"))
            .env("OPENAI_API_KEY", CANARY);
        let process = WatchedProcess::start("worker", &command);
        let health = process.wait_for_line(|line| {
            let (_, address) = line.split_once("health checks on ")?;
            Some(address.to_owned())
        });
        process.wait_for_line(|line| line.contains("worker ready: w-1, 2 commands").then_some(()));
        RunningWorker {
            process,
            health,
            _folder: folder,
        }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let response = reqwest::get(format!("{}{path}", self.health))
            .await
            .unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Its memory in MiB.
    fn resident_mebibytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.pid()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() / 1024
    }
}

/// A command that is part of a trace, which is sent or not.
fn traced_request(line: &str, is_sampled: bool) -> WorkerRequest {
    let flags = u8::from(is_sampled);
    match request(line) {
        WorkerRequest::Exec(request) => WorkerRequest::Exec(Box::new(ExecRequest {
            run: Some("run_1".to_owned()),
            traceparent: Some(format!("00-{TRACE}-{SPAN}-{flags:02x}")),
            ..*request
        })),
        other => other,
    }
}

fn request(line: &str) -> WorkerRequest {
    let container = new_container_id().unwrap();
    WorkerRequest::Exec(Box::new(ExecRequest {
        command: format!("command:{container}"),
        container,
        owner: "someone".into(),
        policy: Policy::default(),
        skills: Vec::new(),
        requirements: None,
        files_digest: Snapshot::default().digest(),
        execution: CommandRequest {
            command: SandboxCommand::Bash(line.into()),
            ..CommandRequest::default()
        },
        attach_only: false,
        passes_on: false,
        epoch: 0,
        run: None,
        traceparent: None,
    }))
}

async fn send(bus: &Bus, request: &WorkerRequest) -> Subscription {
    let inbox = bus.new_inbox();
    let replies = bus.subscribe(&inbox).await.unwrap();
    let subject = requests_subject("prowess", "w-1");
    let sent = bus.publish_with_reply(&subject, &inbox, encode(request).unwrap());
    sent.await.unwrap();
    replies
}

async fn next_reply(replies: &mut Subscription) -> WorkerReply {
    let message = tokio::time::timeout(Duration::from_secs(30), replies.next());
    decode(&message.await.unwrap().unwrap().payload).unwrap()
}

async fn last_reply(replies: &mut Subscription) -> WorkerReply {
    loop {
        let reply = next_reply(replies).await;
        if reply.is_final() {
            return reply;
        }
    }
}

fn stdout(reply: WorkerReply) -> String {
    match reply {
        WorkerReply::Ended(ended) => ended.report.stdout.text,
        other => panic!("{other:?}"),
    }
}

async fn next_beat(beats: &mut Subscription) -> WorkerBeat {
    let message = tokio::time::timeout(Duration::from_secs(30), beats.next());
    decode(&message.await.unwrap().unwrap().payload).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_announces_itself_runs_commands_and_drains() {
    let nats = Nats::start_with_config(NATS_CONFIG);
    let inboxes = gateway_inbox_prefix("prowess", "g-1");
    let settings = NatsSettings::new(vec![nats.url()], inboxes, "a gateway");
    let bus = Bus::connect(settings.with_password("gateway", "g"))
        .await
        .unwrap();
    let mut beats = bus.subscribe(&beats_subject("prowess")).await.unwrap();
    let collector = spans::start_collector().await;
    let worker = RunningWorker::start(&nats, collector.url());
    let beat = next_beat(&mut beats).await;
    assert_eq!(
        (beat.id.as_str(), beat.slots, beat.draining),
        ("w-1", 2, false)
    );
    println!(
        "an idle worker of this build: {} MiB",
        worker.resident_mebibytes()
    );

    assert_eq!(worker.get("/healthz").await.0, 200);
    let (status, body) = worker.get("/readyz").await;
    assert_eq!(
        (status, body.as_str()),
        (200, "{\"nats\":true,\"draining\":false}\n")
    );
    let (_, metrics) = worker.get("/metrics").await;
    assert!(metrics.contains("prowess_worker_slots 2\n"), "{metrics}");
    assert_eq!(worker.get("/elsewhere").await.0, 404);

    let line = "env; cat /proc/*/environ 2>/dev/null; echo ran";
    let unsent = traced_request(line, false);
    let seen = stdout(last_reply(&mut send(&bus, &unsent).await).await);
    assert!(seen.contains("ran\n") && !seen.contains(CANARY), "{seen}");
    let log = worker.process.log();
    assert!(
        log.contains("a worker needs no keys") && log.contains("OPENAI_API_KEY"),
        "{log}"
    );
    assert!(!log.contains(CANARY), "{log}");

    let line = "sleep 4; echo finished; exit 3";
    let mut running = send(&bus, &traced_request(line, true)).await;
    assert!(matches!(
        next_reply(&mut running).await,
        WorkerReply::Accepted { .. }
    ));
    worker.process.signal("TERM");
    while !next_beat(&mut beats).await.draining {}
    let refused = last_reply(&mut send(&bus, &request("true")).await).await;
    assert!(matches!(refused, WorkerReply::Draining), "{refused:?}");
    assert_eq!(worker.get("/readyz").await.0, 503);
    assert_eq!(stdout(last_reply(&mut running).await), "finished\n");
    assert_eq!(worker.process.wait(), 0, "{}", worker.process.log());

    let requests = collector.requests().await;
    let all: Vec<Span> = requests.iter().flat_map(spans::decode).collect();
    assert_eq!(all.len(), 4, "{all:?}");
    let command = &all[0];
    assert_eq!(command.name, "worker command");
    assert_eq!(hex(&command.trace_id), TRACE);
    assert_eq!(hex(&command.parent_span_id), SPAN);
    assert_eq!(spans::text(command, "prowess.worker"), Some("w-1"));
    assert_eq!(spans::text(command, "prowess.run"), Some("run_1"));
    assert_eq!(command.status.as_ref().unwrap().code, 2, "it failed");
    spans::assert_parts(&all, command);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
