//! Files as they are, and their previews.

use http::Method;

use crate::browser::{Console, Page};
use crate::runs::stored_skill;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Stores a file, and returns its id.
pub(crate) async fn upload(console: &Console, name: &str, content: &[u8]) -> String {
    let mut body =
        b"--XX\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nuser_data\r\n".to_vec();
    let head = format!(
        "--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--XX--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=XX")];
    let stored = console.api(Method::POST, "/v1/files", &headers, body).await;
    stored.json()["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", stored.text()))
        .to_owned()
}

pub(crate) fn assert_sandboxed(page: &Page) {
    assert_eq!(
        page.header("content-security-policy"),
        "sandbox; default-src 'none'"
    );
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("cross-origin-resource-policy"), "same-origin");
}

#[tokio::test]
async fn a_file_is_sent_as_it_is_and_only_images_are_shown() {
    let console = Console::start().await;
    let image = upload(&console, "chart.png", PNG).await;
    let shown = console.get(&format!("/console/raw/files/{image}")).await;
    assert_eq!(
        (shown.header("content-type"), &shown.body[..]),
        ("image/png", PNG)
    );
    assert!(shown.header("content-disposition").starts_with("inline"));
    assert_sandboxed(&shown);
    let saved = console
        .get(&format!("/console/raw/files/{image}?download"))
        .await;
    assert!(
        saved
            .header("content-disposition")
            .starts_with("attachment")
    );
    for name in ["a.html", "a.svg", "a.png"] {
        let file = upload(&console, name, b"<svg onload=alert(1)>").await;
        let sent = console.get(&format!("/console/raw/files/{file}")).await;
        assert_eq!(
            sent.header("content-type"),
            "application/octet-stream",
            "{name}"
        );
        assert!(
            sent.header("content-disposition").starts_with("attachment"),
            "{name}"
        );
        assert_sandboxed(&sent);
    }
}

/// What scripts of a page get.
async fn fragment(console: &Console, file: &str) -> Page {
    let path = format!("/console/preview/files/{file}");
    console.get_with(&path, &[("hx-request", "true")]).await
}

#[tokio::test]
async fn a_preview_is_a_part_of_a_page() {
    let console = Console::start().await;
    let table = upload(&console, "a.csv", b"name,text\nAda,<b>hi</b>\n").await;
    let shown = fragment(&console, &table).await;
    assert!(
        shown.text().contains("<td>&#60;b&#62;hi&#60;/b&#62;</td>"),
        "{}",
        shown.text()
    );
    assert!(!shown.text().contains("<html"), "{}", shown.text());
    let image = upload(&console, "chart.png", PNG).await;
    let shown = fragment(&console, &image).await;
    let source = format!("src=\"/console/raw/files/{image}\"");
    assert!(shown.text().contains(&source), "{}", shown.text());
    let missing = fragment(&console, "file_1").await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn without_scripts_a_preview_is_a_page() {
    let console = Console::start().await;
    let table = upload(&console, "a.csv", b"name,text\nAda,hi\n").await;
    let page = console
        .get(&format!("/console/preview/files/{table}"))
        .await;
    assert!(page.text().contains("<html"), "{}", page.text());
    assert!(page.main().contains("<h1>a.csv</h1>"), "{}", page.main());
    assert!(page.main().contains("<td>Ada</td>"), "{}", page.main());
}

#[tokio::test]
async fn a_file_of_a_skill_is_sent_and_no_other() {
    let console = Console::start().await;
    let skill = stored_skill(&console).await;
    let path = format!("/console/raw/skills/{skill}/latest");
    let file = console.get(&format!("{path}/SKILL.md")).await;
    assert!(file.text().contains("Greet people."), "{}", file.text());
    assert_sandboxed(&file);
    for other in ["NONE.md", "%2E%2E/secret", "..%2F..%2Fsecret"] {
        let missing = console.get(&format!("{path}/{other}")).await;
        assert_eq!(missing.status, 404, "{other}");
    }
}

#[tokio::test]
async fn without_a_sandbox_a_pdf_file_is_a_download_with_the_reason() {
    let console = Console::start().await;
    let document = b"%PDF-1.7\n1 0 obj <</OpenAction <</S /JavaScript /JS (app.alert(1))>>>>";
    // Whatever it is called.
    for name in ["report.pdf", "report.html", "report.png"] {
        let file = upload(&console, name, document).await;
        let preview = fragment(&console, &file).await;
        let text = preview.text();
        let why = "This PDF file is not shown: pages of PDF files are drawn in the sandbox, and \
            this server has none";
        assert!(text.contains(why), "{text}");
        assert!(text.contains(&format!("Download {name} (70 B)")), "{text}");
        for shown in ["<iframe", "<embed", "<object", "<img", "app.alert"] {
            assert!(!text.contains(shown), "{text}");
        }
        let raw = console.get(&format!("/console/raw/files/{file}")).await;
        assert_eq!(raw.header("content-type"), "application/octet-stream");
        assert!(raw.header("content-disposition").starts_with("attachment"));
        assert_sandboxed(&raw);
        let picture = console.get(&format!("/console/picture/files/{file}")).await;
        assert_eq!(picture.status, 503);
    }
}
