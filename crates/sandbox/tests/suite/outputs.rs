//! What is collected from `/mnt/data` after a command, and what is not.

use crate::support::{TestHost, everyone, stdout};
use serde_json::{Value, json};
use std::fs;

/// Paths of outputs, and of skipped entries with the reason.
fn found(report: &Value) -> (Vec<String>, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let outputs = report["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(&one["path"]));
    let skipped = report["skipped"].as_array().unwrap();
    let skipped = skipped
        .iter()
        .map(|one| format!("{}: {}", text(&one["path"]), text(&one["reason"])));
    let mut skipped: Vec<_> = skipped.collect();
    skipped.sort();
    (outputs.collect(), skipped)
}

/// Runs bash lines one after the other in one container.
fn lines(host: &TestHost, lines: &[&str]) -> Vec<Value> {
    let runs: Vec<_> = lines
        .iter()
        .map(|line| json!({ "command": { "bash": line } }))
        .collect();
    host.run(json!({ "runs": runs }))
}

#[test]
fn new_and_changed_files_are_reported_with_type_size_and_digest() {
    for who in everyone() {
        let reports = lines(
            &TestHost::new(who),
            &[
                "mkdir -p a/b; printf 'x,y' > a/b/t.csv; printf 'GIF89a' > pic.txt; echo same > same",
                "echo more >> a/b/t.csv; touch same; cat same > copy; mv copy same",
            ],
        );
        let gif = json!({
            "path": "pic.txt", "size": 6, "mime_type": "image/gif",
            "sha256": "57a4e5e45ac6ef3f87f1b7a1c4d9a7b7b5a8ad27cbb0bb4ea4c5b2a54b1b0f3e",
        });
        assert_eq!(found(&reports[0]).0, ["a/b/t.csv", "pic.txt", "same"]);
        assert_eq!(reports[0]["outputs"][1]["mime_type"], gif["mime_type"]);
        assert_eq!(reports[0]["outputs"][0]["mime_type"], json!("text/csv"));
        assert_eq!(
            reports[0]["outputs"][1]["sha256"].as_str().unwrap().len(),
            64
        );
        assert_eq!(
            found(&reports[1]).0,
            ["a/b/t.csv"],
            "what has the same bytes has not changed"
        );
    }
}

#[test]
fn deletions_and_replacements_are_kept() {
    for who in everyone() {
        let reports = lines(
            &TestHost::new(who),
            &[
                "mkdir -p d/sub; touch d/1 d/sub/2 f g; ln -s d l; mkdir e; touch e/old",
                "rm -r d f; mkdir f; touch f/in; rm l; mkdir l; touch l/in; rm g; rm -r e; mkdir e; touch e/new",
                "find . | sort | tr '\\n' ' '",
            ],
        );
        assert_eq!(
            stdout(&reports[2]),
            ". ./e ./e/new ./f ./f/in ./l ./l/in ",
            "{who:?}"
        );
    }
}

#[test]
fn links_and_special_files_are_reported_and_never_followed() {
    let make = "import os, socket
os.symlink('/etc/passwd', 'link'); os.symlink('.', 'loop'); os.symlink('../../../../../../etc', 'up')
open('one', 'w').write('x'); os.link('one', 'two')
os.mkfifo('fifo'); socket.socket(socket.AF_UNIX).bind('sock')
open('plain', 'w').write('x')";
    for who in everyone() {
        let host = TestHost::new(who);
        let reports = host.run(json!({ "runs": [
            { "command": { "python": make } },
            { "command": { "bash": "ls; cat one two" } },
        ] }));
        let (outputs, skipped) = found(&reports[0]);
        assert_eq!(outputs, ["plain"], "{who:?}");
        assert_eq!(
            skipped,
            [
                "fifo: special",
                "link: symlink",
                "loop: symlink",
                "one: hard-link",
                "sock: special",
                "two: hard-link",
                "up: symlink",
            ]
        );
        assert_eq!(stdout(&reports[1]), "link\nloop\none\nplain\ntwo\nup\nxx");
    }
}

#[test]
fn a_link_left_by_one_command_does_not_lead_the_next_ones_files_astray() {
    for who in everyone() {
        let host = TestHost::new(who);
        let target = host.state().join("target");
        fs::create_dir(&target).unwrap();
        let link = format!(
            "ln -s {} evil; ln -s {}/x file",
            target.display(),
            target.display()
        );
        let reports = lines(
            &host,
            &[
                &link,
                "rm evil; mkdir evil; echo x > evil/in; rm file; echo x > file",
                "cat evil/in file",
            ],
        );
        assert_eq!(stdout(&reports[2]), "x\nx\n", "{who:?}");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
    }
}

#[test]
fn giants_and_strange_names_are_not_taken() {
    let make = r"import os
try: os.truncate(os.open('giant', os.O_CREAT | os.O_WRONLY), 1 << 50)
except OSError: print('refused')
for n in range(4): os.truncate(os.open(f'sparse{n}', os.O_CREAT | os.O_WRONLY), 3 << 20)
for name in (b'new\nline', b'\xff\xfe', b'tab\t', b'esc\x1b[31m', b'-rf', b'sp ace'): open(name, 'w').write('x')";
    for who in everyone() {
        let limits = json!({ "data_bytes": 8 << 20 });
        let request = json!({ "limits": limits, "runs": [{ "command": { "python": make } }] });
        let host = TestHost::new(who);
        let report = host.run(request).remove(0);
        let (outputs, skipped) = found(&report);
        assert_eq!(stdout(&report), "refused\n");
        let sparse = outputs
            .iter()
            .filter(|path| path.starts_with("sparse"))
            .count();
        assert_eq!(
            sparse, 2,
            "{who:?}: two of three MiB fit into eight: {outputs:?}"
        );
        assert!(outputs.contains(&"-rf".to_owned()) && outputs.contains(&"sp ace".to_owned()));
        assert_eq!(
            skipped.iter().filter(|one| one.ends_with(": name")).count(),
            4,
            "{skipped:?}"
        );
        assert_eq!(
            skipped
                .iter()
                .filter(|one| one.ends_with(": quota"))
                .count(),
            2
        );
    }
}

#[test]
fn files_their_maker_closed_to_everyone_are_still_taken() {
    for who in everyone() {
        let reports = lines(
            &TestHost::new(who),
            &[
                "mkdir d; echo x > d/f; chmod 0 d/f d; echo y > g; chmod 0 g",
                "cat d/f g",
            ],
        );
        assert_eq!(found(&reports[0]).0, ["d/f", "g"], "{who:?}");
        assert_eq!(stdout(&reports[1]), "x\ny\n");
    }
}

#[test]
fn more_than_is_reported_is_marked_and_stays_in_the_container() {
    for who in everyone() {
        let limits = json!({ "outputs": { "count": 3, "file_bytes": 100, "total_bytes": 1000 } });
        let request = json!({ "limits": limits, "keep": true, "runs": [
            { "command": { "bash": "for n in 1 2 3 4 5; do echo $n > $n; done; head -c 200 /dev/zero > large" } },
        ] });
        let answer = TestHost::new(who).ask(request);
        let (outputs, skipped) = found(&answer["reports"][0]);
        assert_eq!(outputs.len(), 3);
        assert_eq!(
            skipped
                .iter()
                .filter(|one| one.ends_with(": too-many"))
                .count(),
            2
        );
        assert!(skipped.contains(&"large: too-large".to_owned()));
        assert_eq!(answer["files"].as_array().unwrap().len(), 6);
    }
}

#[test]
fn folders_without_end_are_not_followed_down() {
    for who in everyone() {
        let deep =
            "p=.; for n in $(seq 60); do p=$p/d; done; mkdir -p $p; echo x > $p/f; echo y > top";
        let report = lines(&TestHost::new(who), &[deep]).remove(0);
        let (outputs, skipped) = found(&report);
        assert_eq!(outputs, ["top"], "{who:?}");
        assert_eq!(skipped.len(), 1);
        assert!(skipped[0].ends_with("d: depth"));
    }
}
