//! A container that expires while no server has its run: it is created again, with its files as
//! of the last finished step.

use std::path::{Path, PathBuf};

use reqwest::multipart::{Form, Part};
use serde_json::json;

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::model::prompts;
use crate::durable::observation::container_id;
use crate::durable::request::in_container;
use crate::on_both_databases;

/// The folders of containers below this one.
fn containers(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let found = folders.flat_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match name.starts_with("container_") {
            true => vec![entry.path()],
            false => containers(&entry.path()),
        }
    });
    found.collect()
}

/// Uploads a file, which a command of the run then changes.
async fn expires_between_two_servers(database: Option<String>) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", "results-stored:1")];
    let mut bed = Bed::start(database, &variables).await;
    let part = Part::bytes(b"raw\n".to_vec()).file_name("log.txt");
    let form = Form::new().text("purpose", "user_data").part("file", part);
    let file = Bed::json(bed.post("/v1/files").multipart(form)).await;
    let environment = json!({"type": "container_auto", "file_ids": [file["id"]]});
    let body = json!({
        "model": "ant/m", "background": true, "input": format!("{} a", prompts::APPEND),
        "tools": [{"type": "shell", "environment": environment}],
    });
    Bed::send_in_background(bed.post("/v1/responses").body(body.to_string()));
    bed.wait_for_death().await;
    let expired = containers(&bed.server.folder().join("data"));
    assert_eq!(expired.len(), 1, "{expired:?}");
    for folder in &expired {
        std::fs::remove_dir_all(folder).unwrap();
    }
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "completed", "{run:?}");
    let id = container_id(&run.result);
    assert!(expired[0].ends_with(&id), "{id}: {expired:?}");
    let files = bed.files(&id).await;
    assert!(files.ends_with("\n\nraw\na1\na2\na3\nend"), "{files}");
    // A later request that names the file does not replace what commands made of it.
    let content = json!([
        {"type": "text", "text": prompts::INSPECT},
        {"type": "container_upload", "file_id": file["id"]},
    ]);
    let mut later = in_container("", &id);
    later["messages"][0]["content"] = content;
    let later = bed.post("/v1/messages").body(later.to_string());
    Bed::text(later.header("anthropic-version", "2023-06-01")).await;
    assert!(
        bed.model
            .last_result()
            .ends_with("\n\nraw\na1\na2\na3\nend")
    );
}

#[test]
fn a_container_that_expired_meanwhile_is_created_again_with_its_files() {
    on_both_databases(expires_between_two_servers);
}
