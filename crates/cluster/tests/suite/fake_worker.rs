//! A worker whose every message the test writes.

use prowess_bus::{Bus, Subscription};
use prowess_sandbox::{CapturedOutput, CommandOutcome, ExecutionReport, Grade};
use prowess_worker::protocol::{
    Ask, CommandTimings, ExecEnded, ExecRequest, FileChanges, GatewayAnswer, WorkerBeat,
    WorkerReply, WorkerRequest, beats_subject, decode, encode, requests_subject,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

const NAMESPACE: &str = "prowess";

/// What a worker answers when a gateway asks what it is; nothing if the test answers that too.
type OwnBeat = Arc<Mutex<Option<WorkerBeat>>>;

/// A request, and where its answers go.
type ReceivedRequest = (WorkerRequest, Option<String>);

pub(crate) struct FakeWorker {
    bus: Bus,
    pub(crate) id: String,
    own: OwnBeat,
    requests: UnboundedReceiver<ReceivedRequest>,
    /// Ends with this.
    _receiving: JoinSet<()>,
}

impl FakeWorker {
    pub(crate) async fn start(bus: &Bus, id: &str) -> Self {
        let subscription = bus.subscribe(&requests_subject(NAMESPACE, id)).await;
        let (sender, requests) = unbounded_channel();
        let own = OwnBeat::new(Mutex::new(Some(WorkerBeat::default())));
        let mut receiving = JoinSet::new();
        receiving.spawn(receive(
            bus.clone(),
            subscription.unwrap(),
            Arc::clone(&own),
            sender,
        ));
        let worker = Self {
            bus: bus.clone(),
            id: id.to_owned(),
            own,
            requests,
            _receiving: receiving,
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
        if let Some(own) = self.own.lock().unwrap().as_mut() {
            own.clone_from(&beat);
        }
        self.announce(&beat).await;
    }

    /// From now on, the test answers when a gateway asks what this worker is.
    pub(crate) fn leave_questions_to_test(&self) {
        *self.own.lock().unwrap() = None;
    }

    /// Publishes a beat, of this worker or of another one.
    pub(crate) async fn announce(&self, beat: &WorkerBeat) {
        let payload = encode(beat).unwrap();
        let sent = self.bus.publish(&beats_subject(NAMESPACE), payload).await;
        sent.unwrap();
    }

    /// The next request, and where its answers go.
    pub(crate) async fn next_request(&mut self) -> ReceivedRequest {
        self.requests.recv().await.unwrap()
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

    /// Where the answers to the next request to install packages go.
    pub(crate) async fn next_layer(&mut self) -> String {
        loop {
            if let (WorkerRequest::Layer(_), Some(reply)) = self.next_request().await {
                return reply;
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

/// Passes on requests, except for questions that the worker answers itself.
async fn receive(
    bus: Bus,
    mut requests: Subscription,
    own: OwnBeat,
    passed_on: UnboundedSender<ReceivedRequest>,
) {
    while let Some(message) = requests.next().await {
        let request: WorkerRequest = decode(&message.payload).unwrap();
        let described = own.lock().unwrap().clone();
        match (request, message.reply, described) {
            (WorkerRequest::Describe, Some(reply), Some(beat)) => {
                let answer = encode(&WorkerReply::Described(Box::new(beat))).unwrap();
                // It fails if the test has closed the bus.
                let _ = bus.publish(&reply, answer).await;
            }
            (request, reply, _) => {
                // It fails if the test does not want it any more.
                let _ = passed_on.send((request, reply));
            }
        }
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
