//! Pages of PDF files, drawn by the real programs in a real sandbox.

use http::Method;
use prowess_engine::SandboxHandle;
use prowess_sandbox::{RuntimeSource, Sandbox, SandboxSettings};
use prowess_server::ServerSettings;
use prowess_testkit::pdf_programs::copy_programs;
use prowess_testkit::{PdfFixture, SkillFixture};
use serde_json::json;
use tempfile::TempDir;

use crate::browser::{Console, Page};
use crate::files::{assert_sandboxed, upload};
use crate::skills::store_skill;

/// Two pages, red and blue.
fn report() -> Vec<u8> {
    PdfFixture::new(&["1 0 0", "0 0 1"]).bytes()
}

/// A console of a server whose sandbox has these programs.
async fn with_sandbox(runtime: RuntimeSource) -> (Console, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = SandboxSettings::new(folder.path());
    settings.allow_reduced = true;
    settings.warm = 0;
    settings.runtime = runtime;
    let sandbox = Sandbox::open(settings).await.unwrap();
    let settings = ServerSettings {
        sandbox: SandboxHandle::ready(sandbox),
        ..ServerSettings::default()
    };
    (Console::with(settings).await, folder)
}

/// A console of a server whose sandbox has the programs of this host.
async fn on_this_host() -> (Console, TempDir) {
    with_sandbox(RuntimeSource::Folder("/".into())).await
}

/// How many commands have run.
fn commands(console: &Console) -> u64 {
    let statistics = console.app.engine().sandbox_handle().statistics();
    let ended = statistics.unwrap().commands;
    ended.iter().map(|(_, count)| count).sum()
}

/// What scripts of a page get.
async fn fragment(console: &Console, path: &str) -> Page {
    console.get_with(path, &[("hx-request", "true")]).await
}

fn assert_is_picture(page: &Page) {
    assert_eq!(page.status, 200, "{}", String::from_utf8_lossy(&page.body));
    assert_eq!(page.header("content-type"), "image/png");
    assert!(page.body.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_sandboxed(page);
}

#[tokio::test]
async fn the_pages_of_a_pdf_file_are_pictures_that_are_drawn_once() {
    let (console, _folder) = on_this_host().await;
    // Whatever it is called.
    let file = upload(&console, "report.html", &report()).await;
    let path = format!("/console/preview/files/{file}");
    let shown = fragment(&console, &path).await;
    let text = shown.text();
    let picture = format!("/console/picture/files/{file}?page=1");
    assert!(text.contains(&format!("src=\"{picture}\"")), "{text}");
    assert!(text.contains("alt=\"Page 1 of report.html\""), "{text}");
    assert!(text.contains("Page 1 of 2") && text.contains("Next page"));
    assert!(!text.contains("Previous page") && !text.contains("<html"));
    assert!(text.contains("Download report.html"), "{text}");

    let first = console.get(&picture).await;
    assert_is_picture(&first);
    let again = console.get(&picture).await;
    assert_eq!(first.body, again.body);
    assert_eq!(commands(&console), 1);

    // Without scripts, the next page is a page of the console.
    let page = console.get(&format!("{path}?page=2")).await;
    let text = page.text();
    assert!(text.contains("<html") && text.contains("Page 2 of 2"));
    assert!(text.contains("Previous page") && !text.contains("Next page"));
    let second = format!("/console/picture/files/{file}?page=2");
    assert!(text.contains(&format!("src=\"{second}\"")), "{text}");
    let second = console.get(&second).await;
    assert_is_picture(&second);
    assert_ne!(first.body, second.body);
    assert_eq!(commands(&console), 2);

    // No other page, and no container is left.
    let missing = fragment(&console, &format!("{path}?page=3")).await;
    let text = missing.text();
    assert!(text.contains("has no page 3; its last one is 2"), "{text}");
    assert!(!text.contains("<img"), "{text}");
    let wrong = fragment(&console, &format!("{path}?page=0")).await;
    assert!(wrong.text().contains("is not a number from 1"));
    let sandbox = console.app.engine().sandbox_handle().sandbox().await;
    let left = sandbox.unwrap().containers_of_owner("default").await;
    assert_eq!(left.unwrap().len(), 0);
}

#[tokio::test]
async fn pdf_files_of_skills_and_of_containers_are_shown() {
    let (console, _folder) = on_this_host().await;
    let skill = SkillFixture::new("report").file("assets/a b.pdf", report());
    let skill = store_skill(&console, "default", &skill).await;
    let path = format!("/console/skills/{skill}?tab=files&file=assets%2Fa+b.pdf");
    let page = console.get(&format!("{path}&page=2")).await;
    assert!(page.main().contains("Page 2 of 2"), "{}", page.main());
    let picture = page.main().split("<img class=\"preview\" src=\"").nth(1);
    let picture = picture.unwrap().split('"').next().unwrap();
    assert_is_picture(&console.get(picture).await);
    let previous = page
        .main()
        .split("<a class=\"button\" href=\"")
        .find_map(|link| {
            let (address, rest) = link.split_once('"')?;
            rest.contains(">Previous page<").then_some(address)
        });
    let previous = previous.unwrap().replace("&#38;", "&");
    let page = console.get(&previous).await;
    assert!(page.main().contains("Page 1 of 2"), "{previous}");

    let json = [("content-type", "application/json")];
    let body = json!({"name": "mine"}).to_string();
    let made = console
        .api(Method::POST, "/v1/containers", &json, body)
        .await;
    let container = made.json()["id"].as_str().unwrap().to_owned();
    let stored = upload(&console, "report.pdf", &report()).await;
    let files = format!("/v1/containers/{container}/files");
    let body = json!({"file_id": stored}).to_string();
    let put = console.api(Method::POST, &files, &json, body).await;
    let file = put.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/console/preview/containers/{container}/{file}");
    let shown = fragment(&console, &path).await;
    assert!(shown.text().contains("Page 1 of 2"), "{}", shown.text());
    let picture = format!("/console/picture/containers/{container}/{file}?page=1");
    assert!(shown.text().contains(&picture), "{}", shown.text());
    assert_is_picture(&console.get(&picture).await);
}

#[tokio::test]
async fn a_pdf_file_that_lies_is_not_shown_but_the_reason_is() {
    let (console, _folder) = on_this_host().await;
    let file = PdfFixture::new(&["1 0 0"]);
    for (name, content, why) in [
        (
            "locked.pdf",
            file.clone().encrypted().bytes(),
            "Incorrect password",
        ),
        (
            "many.pdf",
            file.clone().claimed_pages(1_000_000_000).bytes(),
            "cannot be drawn",
        ),
        (
            "odd.pdf",
            b"%PDF-1.7\n<script>alert(1)</script>\n".to_vec(),
            "Syntax Error",
        ),
    ] {
        let file = upload(&console, name, &content).await;
        let shown = fragment(&console, &format!("/console/preview/files/{file}")).await;
        let text = shown.text();
        assert_eq!(shown.status, 200, "{text}");
        assert!(text.contains("This PDF file is not shown: "), "{text}");
        assert!(text.contains(why), "{name}: {text}");
        assert!(text.contains(&format!("Download {name}")), "{text}");
        assert!(
            !text.contains("<img") && !text.contains("<script"),
            "{text}"
        );
        let picture = console.get(&format!("/console/picture/files/{file}")).await;
        assert_eq!(picture.status, 400, "{name}");
    }
}

#[tokio::test]
async fn without_the_programs_the_page_has_the_command_that_installs_them() {
    let root = tempfile::tempdir().unwrap();
    // A shell and nothing else.
    copy_programs(root.path(), &["sh"]);
    let (console, _folder) = with_sandbox(RuntimeSource::Folder(root.path().into())).await;
    let file = upload(&console, "report.pdf", &report()).await;
    let shown = fragment(&console, &format!("/console/preview/files/{file}")).await;
    let text = shown.text();
    for part in [
        "has no `pdftoppm` and `pdfinfo`",
        "poppler-utils",
        "<pre class=\"code\" tabindex=\"0\">prowess runtime install full</pre>",
        "Download report.pdf",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("<img"), "{text}");
    let answer = format!("/v1/files/{file}/preview");
    let answer = console.api(Method::GET, &answer, &[], "").await;
    assert_eq!(answer.status, 501, "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "preview-program-missing");
}
