//! Honest and forged results.

use super::*;
use prowess_sandbox::{
    CapturedOutput, CommandOutcome, EgressConnection, Grade, SandboxOutput, SkipReason,
    SkippedFile, SnapshotEntry, Verdict,
};
use prowess_worker::protocol::CommandTimings;
use std::time::Duration;

fn entry(path: &str, text: &str) -> SnapshotEntry {
    SnapshotEntry {
        path: path.into(),
        content: SnapshotContent::File(Digest::from_content(text.as_bytes())),
        size: text.len() as u64,
        mode: 0o644,
    }
}

fn report(outputs: Vec<SandboxOutput>) -> ExecutionReport {
    ExecutionReport {
        outcome: CommandOutcome::Exit(0),
        hits: Vec::new(),
        stdout: CapturedOutput::default(),
        stderr: CapturedOutput::default(),
        outputs,
        skipped: Vec::new(),
        elapsed: Duration::ZERO,
        connections: Vec::new(),
        level: Grade::Strict,
        files_unchanged: false,
        worker: None,
    }
}

fn before() -> Arc<FileSet> {
    Arc::new(FileSet::new(vec![entry("a", "old"), entry("b", "other")]))
}

/// A result that writes `new` to `a` and removes `b`.
fn honest() -> ExecEnded {
    let changed = vec![entry("a", "new")];
    let files = FileSet::new(changed.clone());
    let new = Bytes::from_static(b"new");
    let output = SandboxOutput {
        path: "a".into(),
        size: 3,
        mime_type: "text/plain".into(),
        sha256: Digest::from_content(b"new").hex(),
    };
    ExecEnded {
        report: report(vec![output]),
        changes: Some(FileChanges {
            changed,
            removed: vec!["b".into()],
            files_digest: files.digest(),
            contents: vec![(
                Digest::from_content(b"new"),
                ChangedContent::Inline(new.into()),
            )],
            omitted: 0,
        }),
        timings: CommandTimings::default(),
    }
}

fn refused(change: impl FnOnce(&mut FileChanges)) -> String {
    let mut ended = honest();
    change(ended.changes.as_mut().unwrap());
    check(&before(), ended, &SandboxLimits::default()).unwrap_err()
}

#[test]
fn an_honest_result_passes() {
    let checked = check(&before(), honest(), &SandboxLimits::default()).unwrap();
    let changes = checked.changes.unwrap();
    assert_eq!(changes.files.list().len(), 1);
    assert_eq!(changes.inline.len(), 1);
    assert_eq!(checked.report.outputs.len(), 1);
}

#[test]
fn outputs_that_are_not_files_are_left_out() {
    let mut ended = honest();
    let mut forged = ended.report.outputs.clone();
    for output in &mut forged {
        output.path = "b".into();
    }
    ended.report.outputs.extend(forged);
    let checked = check(&before(), ended, &SandboxLimits::default()).unwrap();
    assert_eq!(checked.report.outputs.len(), 1);
}

#[test]
fn forged_changes_are_refused() {
    let digest = refused(|changes| changes.files_digest = Digest::from_content(b""));
    assert!(digest.contains("digest of the files"), "{digest}");
    let content = refused(|changes| {
        let bytes = Bytes::from_static(b"wen").into();
        changes.contents = vec![(Digest::from_content(b"new"), ChangedContent::Inline(bytes))];
    });
    assert!(content.contains("another digest"), "{content}");
    let missing = refused(|changes| changes.contents.clear());
    assert!(missing.contains("is missing"), "{missing}");
    let size = refused(|changes| {
        changes.changed = vec![SnapshotEntry {
            size: 4,
            ..entry("a", "new")
        }];
        changes.files_digest = FileSet::new(changes.changed.clone()).digest();
    });
    assert!(size.contains("reported with 4 bytes"), "{size}");
    let removed = refused(|changes| changes.removed.push("../etc".into()));
    assert!(removed.contains("did not exist"), "{removed}");
    for path in ["../a", "/etc/passwd", "x/y", "a\n"] {
        refused(|changes| {
            changes.changed = vec![entry(path, "new")];
            let mut files = vec![entry("a", "old")];
            files.extend(changes.changed.clone());
            changes.files_digest = FileSet::new(files).digest();
        });
    }
    let twice = refused(|changes| {
        changes.changed = vec![entry("a", "new"), entry("a", "new")];
        changes.files_digest = FileSet::new(changes.changed.clone()).digest();
    });
    assert!(twice.contains("twice"), "{twice}");
}

#[test]
fn more_than_the_limits_is_refused() {
    let limits = SandboxLimits {
        data_bytes: 2,
        ..SandboxLimits::default()
    };
    let refused = check(&before(), honest(), &limits).unwrap_err();
    assert!(refused.contains("does not fit"), "{refused}");
    let mut long = honest();
    long.report.stdout.text = "x".repeat(1 << 20);
    let refused = check(&before(), long, &SandboxLimits::default()).unwrap_err();
    assert!(refused.contains("bytes of output"), "{refused}");
}

#[test]
fn an_end_that_no_command_has_is_refused() {
    for outcome in [
        CommandOutcome::Exit(256),
        CommandOutcome::Exit(i32::MIN),
        CommandOutcome::Signal(i32::MAX),
        CommandOutcome::Signal(-1),
    ] {
        let mut ended = honest();
        ended.report.outcome = outcome;
        assert!(
            check(&before(), ended, &SandboxLimits::default()).is_err(),
            "{outcome:?}"
        );
    }
}

#[test]
fn what_a_worker_reports_about_a_command_is_brought_within_limits() {
    let mut ended = honest();
    let report = &mut ended.report;
    report.elapsed = Duration::from_millis(u64::MAX);
    report.stdout.cut = u64::MAX;
    (report.stderr.bytes, report.stderr.cut) = (u64::MAX, u64::MAX);
    let skipped = |path: String| SkippedFile {
        path,
        reason: SkipReason::Special,
    };
    report.skipped = vec![skipped("x".repeat(1 << 20)); 10];
    report.skipped.extend(vec![skipped("fifo".into()); 5_000]);
    let connection = |host: &str, reason: Option<&str>| EgressConnection {
        host: host.into(),
        port: 443,
        verdict: Verdict::Allowed,
        reason: reason.map(str::to_owned),
    };
    report.connections = vec![
        connection("a.test\u{1b}[2J", None),
        connection("a.test", Some("two\nlines")),
        connection(&"a".repeat(1 << 20), None),
        connection("a.test", Some("why")),
    ];
    report.level = Grade::Reduced {
        missing: vec!["x".repeat(1 << 20), "landlock".into()],
    };
    let limits = SandboxLimits::default();
    let report = check(&before(), ended, &limits).unwrap().report;
    assert!(report.elapsed <= limits.timeout * 2, "{:?}", report.elapsed);
    assert_eq!(report.stdout.cut, 0);
    assert!(report.stderr.bytes < u64::MAX / 2);
    assert_eq!(report.stderr.cut, report.stderr.bytes);
    assert_eq!(report.skipped.len(), 1_000);
    assert!(report.skipped.iter().all(|one| one.path == "fifo"));
    assert_eq!(report.connections, [connection("a.test", Some("why"))]);
    let missing = vec!["landlock".to_owned()];
    assert_eq!(report.level, Grade::Reduced { missing });
}

#[test]
fn outputs_are_listed_once_within_their_limits_and_with_a_media_type() {
    fn outputs(change: impl Fn(&mut SandboxOutput), limits: &SandboxLimits) -> Vec<String> {
        let mut ended = honest();
        let mut changed = ended.report.outputs[0].clone();
        change(&mut changed);
        ended.report.outputs = vec![changed; 5];
        let checked = check(&before(), ended, limits).unwrap();
        let types = checked.report.outputs.into_iter();
        types.map(|output| output.mime_type).collect()
    }
    let all = SandboxLimits::default();
    assert_eq!(outputs(|_| {}, &all), ["text/plain"]);
    for forged in ["text/html\r\nx: y", "", "text", "a/b; c", &"a/".repeat(99)] {
        let change = |output: &mut SandboxOutput| output.mime_type = forged.to_owned();
        assert_eq!(outputs(change, &all), ["application/octet-stream"]);
    }
    for (file_bytes, total_bytes) in [(2, 100), (100, 2)] {
        let mut few = SandboxLimits::default();
        few.outputs.file_bytes = file_bytes;
        few.outputs.total_bytes = total_bytes;
        assert!(outputs(|_| {}, &few).is_empty());
    }
}
