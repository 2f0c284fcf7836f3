//! A worker whose every message the test writes.

use prowess_bus::{Bus, Subscription};
use prowess_sandbox::{CapturedOutput, CommandOutcome, ExecutionReport, Grade};
use prowess_worker::protocol::{
    Ask, CommandTimings, ExecEnded, ExecRequest, FileChanges, GatewayAnswer, WorkerBeat,
    WorkerReply, WorkerRequest, beats_subject, decode, encode, requests_subject,
};
use std::time::Duration;

const NAMESPACE: &str = "prowess";

pub(crate) struct FakeWorker {
    bus: Bus,
    pub(crate) id: String,
    requests: Subscription,
}

impl FakeWorker {
    pub(crate) async fn start(bus: &Bus, id: &str) -> Self {
        let requests = bus.subscribe(&requests_subject(NAMESPACE, id)).await;
        let worker = Self {
            bus: bus.clone(),
            id: id.to_owned(),
            requests: requests.unwrap(),
        };
        worker.beat(0).await;
        worker
    }

    /// Announces itself with so many of four slots in use.
    pub(crate) async fn beat(&self, running: usize) {
        self.beat_with(running, 4).await;
    }

    pub(crate) async fn beat_with(&self, running: usize, slots: usize) {
        let beat = WorkerBeat {
            id: self.id.clone(),
            boot: "1".into(),
            protocol: 1,
            running,
            slots,
            grade: "strict".into(),
            ..WorkerBeat::default()
        };
        self.announce(&beat).await;
    }

    /// Publishes a beat, of this worker or of another one.
    pub(crate) async fn announce(&self, beat: &WorkerBeat) {
        let payload = encode(beat).unwrap();
        let sent = self.bus.publish(&beats_subject(NAMESPACE), payload).await;
        sent.unwrap();
    }

    /// The next request, and where its answers go.
    pub(crate) async fn next_request(&mut self) -> (WorkerRequest, Option<String>) {
        let message = self.requests.next().await.unwrap();
        (decode(&message.payload).unwrap(), message.reply)
    }

    /// The next command, whatever else is requested before.
    pub(crate) async fn next_exec(&mut self) -> (ExecRequest, String) {
        loop {
            if let (WorkerRequest::Exec(request), Some(reply)) = self.next_request().await {
                return (*request, reply);
            }
        }
    }

    /// The same, while it announces that it has room.
    pub(crate) async fn next_exec_when_free(&mut self) -> (ExecRequest, String) {
        loop {
            self.beat(0).await;
            let pause = tokio::time::sleep(Duration::from_millis(50));
            tokio::select! {
                next = self.next_exec() => return next,
                () = pause => {}
            }
        }
    }

    pub(crate) async fn reply(&self, to: &str, reply: &WorkerReply) {
        let sent = self.bus.publish(to, encode(reply).unwrap()).await;
        sent.unwrap();
    }

    /// Asks the gateway for something, and waits for its answer.
    pub(crate) async fn ask(&self, to: &str, ask: Ask) -> GatewayAnswer {
        let payload = encode(&WorkerReply::Ask(ask)).unwrap();
        let answer = self.bus.request(to, payload, Duration::from_secs(10)).await;
        decode(&answer.unwrap().payload).unwrap()
    }
}

/// The end of a command that succeeded.
pub(crate) fn ended(stdout: &str, changes: Option<FileChanges>) -> WorkerReply {
    WorkerReply::Ended(Box::new(ExecEnded {
        report: ExecutionReport {
            outcome: CommandOutcome::Exit(0),
            hits: Vec::new(),
            stdout: CapturedOutput {
                text: stdout.to_owned(),
                ..CapturedOutput::default()
            },
            stderr: CapturedOutput::default(),
            outputs: Vec::new(),
            skipped: Vec::new(),
            elapsed: Duration::ZERO,
            connections: Vec::new(),
            level: Grade::Strict,
            files_unchanged: false,
            // What it says of itself does not count.
            worker: Some("another".to_owned()),
        },
        changes,
        timings: CommandTimings::default(),
    }))
}
