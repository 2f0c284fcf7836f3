//! Requests that no gateway of ours sends.

use crate::gateway::{TestGateway, failed};
use crate::support::TestWorker;
use prowess_bus::Bus;
use prowess_skill::Digest;
use prowess_worker::protocol::{
    ExecRequest, LayerRequest, MountedSkill, MountedSkillFile, RemoteError, WorkerReply,
    WorkerRequest, encode,
};

type Change = fn(&mut ExecRequest);

fn skill(folder: &str, size: u64) -> MountedSkill {
    let digest = Digest::from_content(b"x");
    MountedSkill {
        folder: folder.into(),
        digest,
        files: vec![MountedSkillFile {
            path: "SKILL.md".into(),
            digest,
            size,
            executable: false,
        }],
    }
}

#[tokio::test]
async fn requests_that_are_not_valid_are_refused_and_nothing_is_made() {
    let bus = Bus::local();
    let worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let changes: &[(&str, Change)] = &[
        ("no id", |request| request.command.clear()),
        ("an id with a line", |request| {
            request.command = "a\nb".into()
        }),
        ("a long id", |request| request.command = "a".repeat(513)),
        ("a path as container", |request| {
            request.container = "../../etc".into()
        }),
        ("no container", |request| request.container.clear()),
        ("another form of id", |request| {
            request.container = "container_A".into()
        }),
        ("no owner", |request| request.owner.clear()),
        ("the owner of builds", |request| {
            request.owner = "\0layers a".into()
        }),
        ("a long owner", |request| request.owner = "a".repeat(1000)),
        ("a folder that leaves", |request| {
            request.skills = vec![skill("../x", 1)]
        }),
        ("no folder", |request| request.skills = vec![skill("", 1)]),
        ("a huge skill", |request| {
            request.skills = vec![skill("x", u64::MAX)]
        }),
        ("many skills", |request| {
            request.skills = vec![skill("x", 1); 501]
        }),
        ("many variables", |request| {
            request.execution.env = vec![("A".into(), String::new()); 1001];
        }),
        ("two variables in one", |request| {
            request.execution.env = vec![("A=B".into(), String::new())];
        }),
        ("an endless timeout", |request| {
            request.execution.timeout_ms = Some(u64::MAX)
        }),
        ("a log line", |request| {
            request.run = Some("a\nforged line".into())
        }),
    ];
    for (name, change) in changes {
        let mut request = gateway.request("echo ran");
        change(&mut request);
        let (last, conversation) = gateway.exec(request).await;
        assert_eq!(failed(last), RemoteError::BAD_REQUEST, "{name}");
        assert_eq!(conversation.attached, None, "{name}");
    }
    assert!(worker.sandbox.containers().is_empty());
    let layer = LayerRequest {
        command: "l".into(),
        owner: "\0layers a".into(),
        requirements: prowess_sandbox::Requirements::parse("six").unwrap(),
    };
    let layer = WorkerRequest::Layer(Box::new(layer));
    let mut conversation = gateway.begin(layer).await;
    let last = gateway.finish(&mut conversation).await;
    assert_eq!(failed(last), RemoteError::BAD_REQUEST);
}

#[tokio::test]
async fn payloads_that_are_no_requests_are_answered_and_harmless() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let mut other_version = encode(&WorkerRequest::Describe).unwrap().to_vec();
    other_version[0] = 9;
    let payloads = [
        Vec::new(),
        other_version,
        b"\x01{".to_vec(),
        b"\x01{\"exec\":{\"command\":1}}".to_vec(),
        b"\x01\"reformat\"".to_vec(),
    ];
    for payload in payloads {
        let mut conversation = gateway.begin_raw(payload.into()).await;
        let last = gateway.finish(&mut conversation).await;
        assert_eq!(failed(last), RemoteError::BAD_REQUEST);
    }
    // Without a reply subject there is nobody to answer.
    let request = gateway.request("echo ran");
    gateway.send(WorkerRequest::Exec(Box::new(request))).await;
    let unknown = vec!["unknown".to_owned(); 3];
    gateway
        .send(WorkerRequest::Keep { commands: unknown })
        .await;
    let command = "unknown".to_owned();
    gateway
        .send(WorkerRequest::Kill {
            command,
            listener: None,
            epoch: 0,
        })
        .await;
    let mut conversation = gateway.begin(WorkerRequest::Describe).await;
    let described = gateway.finish(&mut conversation).await;
    let WorkerReply::Described(beat) = described else {
        panic!("{described:?}")
    };
    assert_eq!((beat.running, beat.waiting), (0, 0));
}
