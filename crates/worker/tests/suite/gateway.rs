//! The gateway's side of conversations: it has the files of one container, answers what a worker
//! needs, and commits what a command changed.

use crate::object_server::ObjectServer;
use crate::support::WORKER;
use bytes::Bytes;
use prowess_bus::{Bus, Subscription};
use prowess_sandbox::{
    Command, Policy, Snapshot, SnapshotContent, SnapshotEntry, new_container_id,
};
use prowess_skill::Digest;
use prowess_worker::protocol::{
    Ask, ChangedContent, CommandRequest, ContentPlace, ExecEnded, ExecRequest, FileChanges,
    FilesPage, GatewayAnswer, UploadPlace, WorkerReply, WorkerRequest, decode, encode,
    requests_subject,
};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

pub(crate) const OWNER: &str = "someone";

/// Longest silence of a worker that still lives.
const MAX_SILENCE: Duration = Duration::from_secs(60);

/// A gateway that knows one container.
pub(crate) struct TestGateway {
    pub(crate) bus: Bus,
    pub(crate) container: String,
    /// Committed entries, by path.
    pub(crate) entries: BTreeMap<String, SnapshotEntry>,
    pub(crate) contents: HashMap<Digest, Bytes>,
    /// Contents of at least this many bytes are given by URL, if there is a server.
    pub(crate) objects: Option<ObjectServer>,
    /// Everything that workers requested.
    pub(crate) asks: Vec<Ask>,
    /// Entries in one answer.
    pub(crate) page: usize,
    slots: u64,
    commands: usize,
}

/// One command at a worker.
pub(crate) struct Conversation {
    replies: Subscription,
    pub(crate) output: Vec<u8>,
    pub(crate) next_seq: u64,
    pub(crate) beats: usize,
    pub(crate) attached: Option<bool>,
}

impl TestGateway {
    pub(crate) fn new(bus: &Bus) -> Self {
        Self {
            bus: bus.clone(),
            container: new_container_id().unwrap(),
            entries: BTreeMap::new(),
            contents: HashMap::new(),
            objects: None,
            asks: Vec::new(),
            page: 1_000,
            slots: 0,
            commands: 0,
        }
    }

    /// Another gateway that finds the same committed files in the store.
    pub(crate) fn other(&self) -> Self {
        Self {
            container: self.container.clone(),
            entries: self.entries.clone(),
            contents: self.contents.clone(),
            objects: self.objects.clone(),
            slots: 1_000,
            commands: 1_000,
            ..Self::new(&self.bus)
        }
    }

    /// Adds a file that a client uploaded.
    pub(crate) fn put(&mut self, path: &str, content: impl Into<Bytes>) {
        let content = content.into();
        let digest = Digest::from_content(&content);
        let entry = SnapshotEntry {
            path: path.into(),
            content: SnapshotContent::File(digest),
            size: content.len() as u64,
            mode: 0o644,
        };
        self.entries.insert(path.into(), entry);
        self.contents.insert(digest, content);
    }

    pub(crate) fn files_digest(&self) -> Digest {
        Snapshot::from_entries(self.entries.values().cloned().collect()).digest()
    }

    pub(crate) fn content(&self, path: &str) -> &[u8] {
        match self.entries[path].content {
            SnapshotContent::File(digest) => &self.contents[&digest],
            _ => panic!("{path} is not a file"),
        }
    }

    /// A command of the container's current files.
    pub(crate) fn request(&mut self, line: &str) -> ExecRequest {
        self.commands += 1;
        ExecRequest {
            command: format!("{}:{}", self.container, self.commands),
            container: self.container.clone(),
            owner: OWNER.into(),
            policy: Policy::default(),
            skills: Vec::new(),
            requirements: None,
            files_digest: self.files_digest(),
            execution: CommandRequest {
                command: Command::Bash(line.into()),
                stream: true,
                ..CommandRequest::default()
            },
            attach_only: false,
            passes_on: false,
            epoch: 0,
            run: Some("run_1".into()),
            traceparent: None,
        }
    }

    /// Sends a request without waiting for anything.
    pub(crate) async fn send(&self, request: WorkerRequest) {
        let subject = requests_subject("prowess", WORKER);
        let payload = encode(&request).unwrap();
        self.bus.publish(&subject, payload).await.unwrap();
    }

    /// Begins a conversation.
    pub(crate) async fn begin(&self, request: WorkerRequest) -> Conversation {
        self.begin_raw(encode(&request).unwrap()).await
    }

    pub(crate) async fn begin_raw(&self, payload: Bytes) -> Conversation {
        let inbox = self.bus.new_inbox();
        let replies = self.bus.subscribe(&inbox).await.unwrap();
        let subject = requests_subject("prowess", WORKER);
        let sent = self.bus.publish_with_reply(&subject, &inbox, payload);
        sent.await.unwrap();
        Conversation {
            replies,
            output: Vec::new(),
            next_seq: 0,
            beats: 0,
            attached: None,
        }
    }

    /// Runs a command to its end, without committing it.
    pub(crate) async fn exec(&mut self, request: ExecRequest) -> (WorkerReply, Conversation) {
        let mut conversation = self.begin(WorkerRequest::Exec(Box::new(request))).await;
        let last = self.finish(&mut conversation).await;
        (last, conversation)
    }

    /// Runs a command and commits what it changed.
    pub(crate) async fn run(&mut self, line: &str) -> Box<ExecEnded> {
        let request = self.request(line);
        let (last, _) = self.exec(request).await;
        let ended = ended(last);
        if let Some(changes) = &ended.changes {
            self.commit(changes);
        }
        ended
    }

    /// Answers what the worker needs until a command is over.
    pub(crate) async fn finish(&mut self, conversation: &mut Conversation) -> WorkerReply {
        loop {
            let reply = self.step(conversation).await;
            if reply.is_final() {
                return reply;
            }
        }
    }

    /// Waits until a worker has accepted a command that takes a while.
    pub(crate) async fn accepted(&mut self, conversation: &mut Conversation) {
        while conversation.attached.is_none() {
            let reply = self.step(conversation).await;
            assert!(!reply.is_final(), "{reply:?}");
        }
    }

    /// The next reply, after it was answered if it needs that.
    pub(crate) async fn step(&mut self, conversation: &mut Conversation) -> WorkerReply {
        let message = tokio::time::timeout(MAX_SILENCE, conversation.replies.next());
        let message = message.await.unwrap().unwrap();
        assert!(!message.no_responders, "there is no worker");
        let reply: WorkerReply = decode(&message.payload).unwrap();
        match &reply {
            WorkerReply::Accepted { attached } => conversation.attached = Some(*attached),
            WorkerReply::Beat => conversation.beats += 1,
            WorkerReply::Output { seq, bytes, .. } => {
                assert_eq!(*seq, conversation.next_seq, "output is complete");
                conversation.next_seq += 1;
                conversation.output.extend_from_slice(bytes.as_ref());
            }
            WorkerReply::Ask(ask) => {
                let answer = encode(&self.answer(ask)).unwrap();
                let subject = message.reply.unwrap();
                self.bus.publish(&subject, answer).await.unwrap();
            }
            _ => {}
        }
        reply
    }

    fn answer(&mut self, ask: &Ask) -> GatewayAnswer {
        self.asks.push(ask.clone());
        match ask {
            Ask::Files { after } => {
                let is_after = |entry: &&SnapshotEntry| after.as_ref() < Some(&entry.path);
                let mut left = self.entries.values().filter(is_after);
                let entries: Vec<_> = left.by_ref().take(self.page).cloned().collect();
                let more = left.next().is_some();
                GatewayAnswer::Files(FilesPage { entries, more })
            }
            Ask::Contents { digests } => {
                let known = digests
                    .iter()
                    .filter(|digest| self.contents.contains_key(digest));
                // Not all at once, as if the rest did not fit.
                let places = known.take(2).map(|digest| {
                    let content = self.contents[digest].clone();
                    match &self.objects {
                        Some(objects) => (*digest, ContentPlace::Url(objects.put(content))),
                        None => (*digest, ContentPlace::Inline(content.into())),
                    }
                });
                GatewayAnswer::Contents(places.collect())
            }
            Ask::Uploads { sizes } => match &self.objects {
                Some(objects) => {
                    let mut target = |_| {
                        self.slots += 1;
                        UploadPlace {
                            slot: self.slots,
                            url: objects.url(&format!("slot-{}", self.slots)),
                        }
                    };
                    GatewayAnswer::Uploads(sizes.iter().map(&mut target).collect())
                }
                None => GatewayAnswer::Refused {
                    why: "there is no object storage".into(),
                },
            },
        }
    }

    /// Checks what a command changed, and makes it the container's files.
    pub(crate) fn commit(&mut self, changes: &FileChanges) {
        for (digest, place) in &changes.contents {
            let content = match place {
                ChangedContent::Inline(bytes) => bytes.0.clone(),
                ChangedContent::Uploaded(slot) => {
                    let objects = self.objects.as_ref().unwrap();
                    objects.get(&format!("slot-{slot}")).unwrap()
                }
            };
            assert_eq!(Digest::from_content(&content), *digest);
            self.contents.insert(*digest, content);
        }
        for path in &changes.removed {
            assert!(self.entries.remove(path).is_some(), "{path} was there");
        }
        for entry in &changes.changed {
            if let SnapshotContent::File(digest) = entry.content {
                let content = &self.contents[&digest];
                assert_eq!(content.len() as u64, entry.size);
            }
            self.entries.insert(entry.path.clone(), entry.clone());
        }
        assert_eq!(self.files_digest(), changes.files_digest);
    }
}

pub(crate) fn ended(reply: WorkerReply) -> Box<ExecEnded> {
    match reply {
        WorkerReply::Ended(ended) => ended,
        other => panic!("{other:?}"),
    }
}

/// The code of a failure.
pub(crate) fn failed(reply: WorkerReply) -> String {
    match reply {
        WorkerReply::Failed(error) => error.code,
        other => panic!("{other:?}"),
    }
}
