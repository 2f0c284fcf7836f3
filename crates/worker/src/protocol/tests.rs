//! Messages survive the way through a payload, also between neighbouring releases.

use super::*;
use proptest::prelude::*;
use prowess_sandbox::{
    CapturedOutput, Command, CommandOutcome, Error, ExecutionReport, Grade, OutputStream, Policy,
    Requirements, SnapshotContent, SnapshotEntry,
};
use prowess_skill::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

fn round_trip<T: Serialize + DeserializeOwned>(message: &T) -> T {
    decode(&encode(message).unwrap()).unwrap()
}

/// A message after a field was added to every one of its objects.
fn from_newer_release<T: Serialize + DeserializeOwned>(message: &T) -> T {
    fn add_fields(value: &mut Value, is_variant: bool) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields.iter_mut() {
                    // An object with one lower-case key may be the variant of an enum.
                    add_fields(inner, name == "limits");
                }
                if fields.len() > 1 || is_variant {
                    fields.insert("of_a_newer_release".into(), json!({ "x": [1] }));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| add_fields(item, false)),
            _ => {}
        }
    }
    let payload = encode(message).unwrap();
    let mut value: Value = serde_json::from_slice(&payload[1..]).unwrap();
    add_fields(&mut value, false);
    let mut newer = vec![PROTOCOL_VERSION];
    newer.extend(serde_json::to_vec(&value).unwrap());
    decode(&newer).unwrap()
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 4]>().prop_map(|bytes| Digest::from_content(&bytes))
}

fn bytes() -> impl Strategy<Value = EncodedBytes> {
    proptest::collection::vec(any::<u8>(), 0..200).prop_map(EncodedBytes::from)
}

fn entry() -> impl Strategy<Value = SnapshotEntry> {
    let content = prop_oneof![
        digest().prop_map(SnapshotContent::File),
        ".{0,20}".prop_map(SnapshotContent::Link),
        Just(SnapshotContent::Directory),
    ];
    (".{1,40}", content, any::<u64>(), 0_i64..0o1000).prop_map(|(path, content, size, mode)| {
        SnapshotEntry {
            path,
            content,
            size,
            mode,
        }
    })
}

fn entries() -> impl Strategy<Value = Vec<SnapshotEntry>> {
    proptest::collection::vec(entry(), 0..6)
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        proptest::collection::vec(".{0,20}", 0..4).prop_map(Command::Argv),
        ".{0,60}".prop_map(Command::Bash),
        ".{0,60}".prop_map(Command::Python),
    ]
}

fn skill() -> impl Strategy<Value = MountedSkill> {
    let file = (".{1,20}", digest(), any::<u64>(), any::<bool>()).prop_map(
        |(path, digest, size, executable)| MountedSkillFile {
            path,
            digest,
            size,
            executable,
        },
    );
    let files = proptest::collection::vec(file, 0..4);
    ("[a-z-]{1,10}", digest(), files).prop_map(|(folder, digest, files)| MountedSkill {
        folder,
        digest,
        files,
    })
}

fn exec_request() -> impl Strategy<Value = ExecRequest> {
    let execution = (
        command(),
        bytes(),
        ".{0,20}",
        any::<Option<u64>>(),
        any::<bool>(),
    );
    let execution = execution.prop_map(|(command, stdin, value, timeout_ms, stream)| {
        let secret = CommandSecret {
            stand_in: "stand-in".into(),
            value: value.clone(),
            domain: "*.example.com".parse().unwrap(),
        };
        CommandRequest {
            command,
            stdin,
            env: vec![("NAME".into(), value)],
            secrets: vec![secret],
            timeout_ms,
            stream,
        }
    });
    let skills = proptest::collection::vec(skill(), 0..3);
    let ids = ("[!-~]{1,40}", ".{1,20}", any::<Option<String>>());
    (
        ids,
        digest(),
        execution,
        skills,
        any::<bool>(),
        1_u64..1 << 40,
    )
        .prop_map(
            |((command, owner, run), files_digest, execution, skills, flag, memory)| {
                let mut policy = Policy::default();
                policy.limits.memory = memory;
                ExecRequest {
                    command,
                    container: "container_1".into(),
                    owner,
                    policy,
                    skills,
                    requirements: flag.then(|| Requirements::parse("six==1.17").unwrap()),
                    files_digest,
                    execution,
                    attach_only: flag,
                    passes_on: flag,
                    epoch: i64::from(flag),
                    run,
                    traceparent: None,
                }
            },
        )
}

fn report() -> ExecutionReport {
    ExecutionReport {
        outcome: CommandOutcome::Exit(3),
        hits: Vec::new(),
        stdout: CapturedOutput {
            text: "text".into(),
            bytes: 4,
            cut: 0,
        },
        stderr: CapturedOutput::default(),
        outputs: Vec::new(),
        skipped: Vec::new(),
        elapsed: Duration::from_millis(12),
        connections: Vec::new(),
        level: Grade::Strict,
        files_unchanged: false,
        worker: None,
    }
}

proptest! {
    #[test]
    fn a_command_survives_and_unknown_fields_are_ignored(request in exec_request()) {
        let request = WorkerRequest::Exec(Box::new(request));
        let text = format!("{request:?}");
        prop_assert_eq!(format!("{:?}", round_trip(&request)), text.clone());
        prop_assert_eq!(format!("{:?}", from_newer_release(&request)), text);
        let WorkerRequest::Exec(request) = request else { unreachable!() };
        let WorkerRequest::Exec(read) = round_trip(&WorkerRequest::Exec(request.clone())) else {
            unreachable!()
        };
        // Not part of the text: contents and values of secrets.
        prop_assert_eq!(&read.execution.secrets, &request.execution.secrets);
        prop_assert_eq!(&read.execution.stdin, &request.execution.stdin);
    }

    #[test]
    fn files_and_contents_survive(
        entries in entries(),
        contents in proptest::collection::vec((digest(), bytes()), 0..4),
        more in any::<bool>(),
    ) {
        let inline = contents.iter().cloned();
        let places = inline.map(|(digest, bytes)| (digest, ContentPlace::Inline(bytes)));
        for answer in [
            GatewayAnswer::Files(FilesPage { entries: entries.clone(), more }),
            GatewayAnswer::Contents(places.collect()),
            GatewayAnswer::Uploads(vec![UploadPlace { slot: 7, url: "https://a/b".into() }]),
            GatewayAnswer::Refused { why: "no".into() },
        ] {
            prop_assert_eq!(round_trip(&answer), answer.clone());
            prop_assert_eq!(from_newer_release(&answer), answer);
        }
        let asks = [
            Ask::Files { after: entries.first().map(|entry| entry.path.clone()) },
            Ask::Contents { digests: contents.iter().map(|(digest, _)| *digest).collect() },
            Ask::Uploads { sizes: vec![0, u64::MAX] },
        ];
        for ask in asks {
            prop_assert_eq!(round_trip(&ask), ask);
        }
        let changes = FileChanges {
            removed: entries.iter().map(|entry| entry.path.clone()).collect(),
            changed: entries,
            files_digest: Digest::from_content(b"files"),
            contents: contents
                .into_iter()
                .map(|(digest, bytes)| (digest, ChangedContent::Inline(bytes)))
                .chain([(Digest::from_content(b"large"), ChangedContent::Uploaded(3))])
                .collect(),
            omitted: 2,
        };
        let ended = WorkerReply::Ended(Box::new(ExecEnded {
            report: report(),
            changes: Some(changes.clone()),
            timings: CommandTimings::default(),
        }));
        let WorkerReply::Ended(read) = from_newer_release(&ended) else { unreachable!() };
        prop_assert_eq!(read.changes, Some(changes));
        prop_assert_eq!(read.report.outcome, CommandOutcome::Exit(3));
    }

    #[test]
    fn no_bytes_are_read_as_something_that_panics(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode::<WorkerRequest>(&payload);
        let _ = decode::<WorkerReply>(&payload);
        let _ = decode::<GatewayAnswer>(&payload);
        let _ = decode::<WorkerBeat>(&payload);
    }
}

#[test]
fn another_version_is_refused_and_named() {
    let mut payload = encode(&WorkerRequest::Describe).unwrap().to_vec();
    payload[0] = 2;
    let error = decode::<WorkerRequest>(&payload).unwrap_err();
    assert!(matches!(error, ProtocolError::Version { found: 2 }));
    assert!(error.to_string().contains("version 2"), "{error}");
    assert!(matches!(
        decode::<WorkerRequest>(&[]),
        Err(ProtocolError::Empty)
    ));
    let malformed = decode::<WorkerRequest>(b"\x01{\"fly\":{}}").unwrap_err();
    assert!(matches!(malformed, ProtocolError::Malformed(_)));
}

#[test]
fn an_older_beat_has_defaults() {
    let beat: WorkerBeat = decode(b"\x01{\"id\":\"w1\",\"boot\":\"b\"}").unwrap();
    let expected = WorkerBeat {
        id: "w1".into(),
        boot: "b".into(),
        ..WorkerBeat::default()
    };
    assert_eq!(beat, expected);
}

#[test]
fn only_messages_that_nothing_follows_are_final() {
    let output = WorkerReply::Output {
        seq: 0,
        stream: OutputStream::Stderr,
        bytes: EncodedBytes::default(),
    };
    let ask = WorkerReply::Ask(Ask::Files { after: None });
    for reply in [
        WorkerReply::Accepted { attached: false },
        WorkerReply::Beat,
        output,
        ask,
    ] {
        assert!(!round_trip(&reply).is_final(), "{reply:?}");
    }
    let failed = WorkerReply::Failed(RemoteError::new(RemoteError::KILLED, "x"));
    for reply in [WorkerReply::Draining, failed] {
        assert!(round_trip(&reply).is_final(), "{reply:?}");
    }
}

#[test]
fn errors_that_callers_distinguish_are_the_same_on_the_other_side() {
    let errors = [
        Error::Busy {
            scope: prowess_sandbox::BusyScope::Tenant,
            running: 3,
            waiting: 2,
            retry_after: Duration::from_millis(2_500),
        },
        Error::ContainerQueueFull {
            id: "container_1".into(),
            waiting: 9,
        },
        Error::OverQuota {
            path: "a/b".into(),
            allowed: 5,
            unit: "bytes",
        },
        Error::TooLong {
            what: "command",
            bytes: 200,
            most: 100,
        },
        Error::BadName {
            what: "argument",
            name: "a\0".into(),
            why: "it holds a NUL byte",
        },
        Error::Layer {
            why: "no such package".into(),
        },
        Error::NoIndex {
            what: "package index",
            setting: "package_index",
        },
    ];
    for error in errors {
        let remote = round_trip(&RemoteError::from(&error));
        assert!(!remote.is_of_worker(), "{error}");
        let back = remote.into_error();
        assert_eq!(format!("{back:?}"), format!("{error:?}"));
        assert_eq!(back.code(), error.code());
    }
    let gone = RemoteError::from(Error::LauncherGone);
    assert!(gone.is_of_worker());
    let back = gone.into_error();
    assert_eq!(back.to_string(), Error::LauncherGone.to_string());
    assert!(matches!(back, Error::Remote { code, .. } if code == "launcher-gone"));
}

#[test]
fn an_error_of_a_kind_that_is_not_known_keeps_its_text() {
    let newer = br#"{"code":"gravity","message":"it fell","kind":{"gravity":{"g":9.81}}}"#;
    let mut payload = vec![PROTOCOL_VERSION];
    payload.extend_from_slice(newer);
    let error: RemoteError = decode(&payload).unwrap();
    let expected = RemoteError::new("gravity", "it fell");
    assert_eq!(error, expected);
    assert_eq!(error.into_error().to_string(), "it fell");
}

#[test]
fn nothing_secret_is_in_debug_output() {
    let secret = CommandSecret {
        stand_in: "stand-in".into(),
        value: "canary-value".into(),
        domain: "example.com".parse().unwrap(),
    };
    let url = "https://bucket/x?X-Amz-Signature=canary".to_owned();
    let target = UploadPlace {
        slot: 1,
        url: url.clone(),
    };
    let text = format!("{secret:?} {target:?} {:?}", ContentPlace::Url(url));
    assert!(!text.contains("canary"), "{text}");
    assert!(text.contains("stand-in"), "{text}");
}

#[test]
fn texts_and_times_of_a_workers_error_are_bounded() {
    let long = "\u{e4}".repeat(100_000);
    let remote = RemoteError::new(&long, long.clone());
    assert!(remote.into_error().to_string().len() < 20_000);
    let kind = RemoteErrorKind::Layer { why: long };
    let remote = RemoteError {
        kind: Some(Box::new(kind)),
        ..RemoteError::new("layer", "x")
    };
    assert!(remote.into_error().to_string().len() < 20_000);
    let kind = RemoteErrorKind::TenantBusy {
        running: 1,
        waiting: 1,
        retry_after_ms: u64::MAX,
    };
    let remote = RemoteError {
        kind: Some(Box::new(kind)),
        ..RemoteError::new("other", "x")
    };
    let error = remote.into_error();
    let hour = Duration::from_secs(60 * 60);
    assert!(
        matches!(error, Error::Busy { retry_after, .. } if retry_after <= hour),
        "{error}"
    );
}
