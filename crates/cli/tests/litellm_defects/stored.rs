//! Stored skills: uploads, versions, lists and deletions.

use prowess_testkit::SkillFixture;
use prowess_testkit::raw_zip::{RawEntry, RawZip};
use prowess_wire::ClientDialect;
use serde_json::json;

use super::server::MASTER;
use super::stage::{CLIENTS, commands, last_result, start_gateway, turns};
use super::vendors::client::{new_request, path};
use super::vendors::vendor::Vendor;
use super::vendors::{TestGateway, run};

fn skill_md(name: &str) -> String {
    SkillFixture::new(name).skill_md()
}

fn zip(files: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let entries = files.iter();
    let entries = entries.map(|(path, text)| RawEntry::deflated(path, text.as_bytes()));
    vec![(
        "skill.zip".to_owned(),
        RawZip::from_entries(entries).bytes(),
    )]
}

#[test]
fn an_unknown_skill_is_a_404_that_names_it() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        for client in CLIENTS {
            let gone = "litellm_skill_0f0f";
            let request = new_request(client, &Vendor::Chat.model(0), false, &[&skill, gone]);
            let (response, sent) = gateway.talk(client, Vendor::Chat, &request, []).await;
            assert_eq!(response.status, 404, "{}", response.text);
            assert!(response.text.contains(gone), "{}", response.text);
            assert!(sent.is_empty(), "nobody is asked");
        }
    });
}

#[test]
fn a_flat_zip_keeps_its_folders() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let files = zip(&[
            ("SKILL.md", &skill_md("flat")),
            ("scripts/a.py", "print('f-l-a-t')"),
        ]);
        let made = gateway.upload("/v1/skills", files).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let (_, sent) = commands(&gateway, &[&id], &["python3 /skills/flat/scripts/a.py"]).await;
        assert!(
            last_result(&sent).contains("f-l-a-t"),
            "{}",
            last_result(&sent)
        );
    });
}

#[test]
fn the_skill_file_is_the_one_at_the_root() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        for path in ["MYSKILL.md", "docs/deep/SKILL.md"] {
            let made = gateway
                .upload(
                    "/v1/skills",
                    zip(&[(path, &skill_md("odd")), ("a.txt", "a")]),
                )
                .await;
            assert_eq!(made.status, 400, "{path}: {}", made.text);
            assert!(made.text.contains("SKILL.md"), "{}", made.text);
        }
        let both = zip(&[
            ("examples/SKILL.md", &skill_md("wrong")),
            ("SKILL.md", &skill_md("right")),
        ]);
        let made = gateway.upload("/v1/skills", both).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let (_, sent) = commands(&gateway, &[&id], &[]).await;
        assert!(sent[0].system.contains("- right:"), "{}", sent[0].system);
    });
}

#[test]
fn an_upload_is_checked_and_kept_whole() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let bomb = "0".repeat(64 << 20);
        let bad = [
            vec![("skill.zip".to_owned(), b"this is no zip".to_vec())],
            zip(&[("SKILL.md", "no frontmatter")]),
            zip(&[("SKILL.md", &skill_md("bomb")), ("zeros", &bomb)]),
        ];
        for files in bad {
            let made = gateway.upload("/v1/skills", files).await;
            assert!(
                (400..500).contains(&made.status),
                "{} {}",
                made.status,
                made.text
            );
        }
        let skill = SkillFixture::new("whole")
            .file("a.txt", "a")
            .file("b/c.txt", "c");
        let id = gateway.store(&skill).await;
        let (_, sent) = commands(&gateway, &[&id], &["find /skills/whole -type f"]).await;
        for path in ["SKILL.md", "a.txt", "b/c.txt"] {
            assert!(last_result(&sent).contains(path), "{}", last_result(&sent));
        }
    });
}

#[test]
fn a_version_is_honoured_and_echoed() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let old = commands(&gateway, &[&skill], &["echo hi"]).await.0.json();
        let old = old["container"]["skills"][0]["version"].clone();
        let newer = SkillFixture::new("report").body("Report better.\n");
        let files = vec![("report/SKILL.md".to_owned(), newer.skill_md().into_bytes())];
        let path = format!("/v1/skills/{skill}/versions");
        assert_eq!(gateway.upload(&path, files).await.status, 200);
        for (version, body) in [
            (old.clone(), "Report well."),
            (json!("latest"), "Report better."),
        ] {
            let mut request = new_request(
                ClientDialect::Messages,
                &Vendor::Chat.model(0),
                false,
                &[&skill],
            );
            request["container"]["skills"][0]["version"] = version;
            let turns = turns(&["cat /skills/report/SKILL.md"]);
            let (response, sent) = gateway
                .talk(ClientDialect::Messages, Vendor::Chat, &request, turns)
                .await;
            assert!(last_result(&sent).contains(body), "{}", last_result(&sent));
            let echoed = &response.json()["container"]["skills"][0]["version"];
            assert_eq!(*echoed == old, body == "Report well.", "{echoed}");
        }
    });
}

#[test]
fn listing_reads_no_files_and_pages_are_right() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let mut made = Vec::new();
        for n in 0..5 {
            made.push(
                gateway
                    .store(&SkillFixture::new(&format!("skill-{n}")))
                    .await,
            );
        }
        // What is not there cannot be read.
        let blobs = gateway.server.folder().join("data/blobs");
        assert!(
            blobs.exists(),
            "{:?}",
            std::fs::read_dir(gateway.server.folder().join("data"))
        );
        std::fs::remove_dir_all(blobs).unwrap();
        let mut found = Vec::new();
        let mut query = String::new();
        loop {
            let page = gateway.get(&format!("/v1/skills?limit=2{query}")).await;
            assert_eq!(page.status, 200, "{}", page.text);
            let page = page.json();
            let ids = page["data"].as_array().unwrap().iter();
            found.extend(ids.map(|skill| skill["id"].as_str().unwrap().to_owned()));
            assert_eq!(page["has_more"], found.len() < 5, "{page}");
            if page["has_more"] == false {
                break;
            }
            query = format!("&after={}", found.last().unwrap());
        }
        found.sort();
        made.sort();
        assert_eq!(found, made);
    });
}

#[test]
fn a_deletion_is_seen_by_other_processes() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let other = gateway.sibling();
        let body = new_request(
            ClientDialect::Messages,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        gateway.upstreams[0].respond_always(Vendor::Chat.text_turn(false, "Done."));
        let ask = async || {
            let url = format!("{}{}", other.url(), path(ClientDialect::Messages));
            let request = gateway.http.post(url).bearer_auth(MASTER);
            let request = request.header("anthropic-version", "2023-06-01");
            request
                .body(body.to_string())
                .send()
                .await
                .unwrap()
                .status()
        };
        assert_eq!(ask().await, 200, "it has the skill in its memory");
        assert_eq!(gateway.delete(&format!("/v1/skills/{skill}")).await, 200);
        let (here, _) = gateway
            .talk(ClientDialect::Messages, Vendor::Chat, &body, [])
            .await;
        assert_eq!(here.status, 404, "at once where it was deleted");
        // Elsewhere within the freshness of a second; this ends when it is seen.
        while ask().await != 404 {}
    });
}
