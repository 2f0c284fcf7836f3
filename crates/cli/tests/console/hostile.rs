//! Whatever skills, models, sandboxes and other people wrote is shown as text: on every page
//! that the console links to, as bytes and in a real browser.

use prowess_testkit::SkillFixture;
use reqwest::Method;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::corpus::{ANSI, DESCRIPTION, FILE_NAME, HTML, SVG, TEXTS, all, raw_in};
use crate::crawl::crawl;
use crate::every_page::sign_in;
use crate::stage::{Answer, OPERATOR, Stage};

/// Where a crawl begins, with words of the corpus in every query that a page takes.
const START: [&str; 12] = [
    "/console/skills",
    "/console/skills?q=%22%3E%3Csvg%20onload%3Dcanary%3D3%3E",
    "/console/upload",
    "/console/playground",
    "/console/runs",
    "/console/runs?model=%3Cscript%3Ecanary%3D1%3C%2Fscript%3E&skill=%27%20autofocus%20onfocus%3D%27",
    "/console/containers",
    "/console/usage",
    "/console/keys",
    "/console/providers",
    "/console/audit?actor=%3Cimg%20src%3Dx%20onerror%3Dcanary%3D2%3E",
    "/console/settings",
];

/// What the model says: the corpus in its thoughts, its text and its calls.
fn script() -> String {
    let texts = all();
    format!(
        "[[step]]\nwhen.user = 'go'\nthinking = '''\n{texts}\n'''\ntext = '''\n{texts}\n'''\n\
         calls = [{{ name = 'load_skill', input = {{ name = 'hostile' }} }}]\n\n\
         [[step]]\nwhen.tool_result = 'HOSTILE BODY'\n\
         [[step.calls]]\nname = 'bash_code_execution'\n\
         input = {{ command = '''\ncat /skills/hostile/texts.txt /skills/hostile/ansi.txt\n\
         cat /skills/hostile/texts.txt >&2\n\
         cp /skills/hostile/evil.* /mnt/data/\n\
         cp /skills/hostile/texts.txt \"/mnt/data/{FILE_NAME}\"\necho done-it\n''' }}\n\n\
         [[step]]\nwhen.tool_result = 'done-it'\ntext = '''\n{texts}\n'''\n\n\
         [[step]]\nwhen.user = 'fail'\n\
         error = {{ status = 400, message = '<script>canary=50</script>' }}\n\n\
         [[step]]\ntext = '{{{{user}}}}'\n"
    )
}

fn skill() -> SkillFixture {
    let csv = TEXTS.map(|text| format!("\"{}\",2\n", text.replace('"', "\"\"")));
    SkillFixture::new("hostile")
        .field(
            "description",
            &format!("'{}'", DESCRIPTION.replace('\'', "''")),
        )
        .field("license", "'<script>canary=60</script>'")
        .field("compatibility", "'\"><svg onload=canary=61>'")
        .field(
            "metadata",
            "{ \"<b>key\": \"' autofocus onfocus='canary=62\" }",
        )
        .body(&format!("# HOSTILE BODY\n\n{}\n", all()))
        .file("texts.txt", all())
        .file("ansi.txt", ANSI)
        .file("evil.svg", SVG)
        .file("evil.html", HTML)
        .file("evil.csv", csv.concat())
        .file("evil.md", all())
        .file("evil.xml", SVG)
        .file(&format!("references/{FILE_NAME}"), all())
}

/// A server where everything that others can write is hostile. Gives the id of the skill.
async fn hostile_stage() -> (Stage, String) {
    let stage = Stage::start(&script());
    let id = stage.upload(OPERATOR, &skill()).await;
    let versions = format!("/v1/skills/{id}/versions");
    let changed = skill().file("more.txt", format!("{}\n{}", TEXTS[0], TEXTS[1]));
    stage.upload_to(OPERATOR, &versions, &changed).await;
    let notes = json!({"notes": all()});
    stage
        .api(OPERATOR, Method::POST, &format!("{versions}/2"), notes)
        .await;
    stage.key(TEXTS[1], "default", "use");
    stage.ask(OPERATOR, &id, &format!("go {}", all())).await;
    let failing = json!({
        "model": "demo", "max_tokens": 9,
        "container": {"skills": [{"type": "custom", "skill_id": id}]},
        "messages": [{"role": "user", "content": "fail"}],
    });
    stage
        .try_api(OPERATOR, Method::POST, "/v1/messages", failing)
        .await;
    stage.runs(OPERATOR, 2).await;
    // The audit log shows the program that made a change.
    let body = json!({"name": TEXTS[2], "scopes": ["use"]});
    stage
        .api_as(TEXTS[0], Method::POST, "/v1/admin/keys", body)
        .await;
    (stage, id)
}

/// A file of others as a browser gets it: never as a page of ours.
fn assert_contained(path: &str, answer: &Answer) {
    let kind = answer.header("content-type");
    let policy = answer.header("content-security-policy");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    assert!(policy.contains("sandbox"), "{path}: {policy}");
    assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
    let is_shown = [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "text/plain",
    ];
    let attached = answer
        .header("content-disposition")
        .starts_with("attachment");
    let harmless = is_shown.iter().any(|shown| kind.starts_with(shown));
    assert!(attached || harmless, "{path}: {kind}");
}

/// Exports are for programs: no browser shows them.
fn assert_download(path: &str, answer: &Answer) {
    let disposition = answer.header("content-disposition");
    assert!(
        disposition.starts_with("attachment"),
        "{path}: {disposition}"
    );
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_hostile_content_as_text() {
    let (stage, _) = hostile_stage().await;
    let session = stage.sign_in(OPERATOR).await;
    let pages = crawl(&session, &START).await;
    let mut showing = 0;
    let mut files = 0;
    for (path, answer) in &pages {
        assert!(answer.status < 400, "{path}: {}", answer.status);
        if answer.status == 303 {
            assert!(answer.header("location").starts_with("/console"), "{path}");
            continue;
        }
        if path.starts_with("/console/raw/") {
            assert_contained(path, answer);
            files += 1;
            continue;
        }
        if !answer.header("content-type").starts_with("text/html") {
            assert_download(path, answer);
            continue;
        }
        let text = answer.text();
        let raw = raw_in(&text);
        assert!(raw.is_empty(), "{path}: {raw:?}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        showing += usize::from(text.contains("canary"));
    }
    let paths: Vec<&String> = pages.iter().map(|(path, _)| path).collect();
    assert!(showing >= 10 && files >= 4, "{showing} {files} {paths:#?}");
}

/// Addresses that name nothing, and a query that is wrong, with words of the corpus.
const WRONG: [&str; 9] = [
    "/console/%3Cscript%3Ecanary%3D1%3C%2Fscript%3E",
    "/console/skills/%3Cscript%3Ecanary%3D1%3C%2Fscript%3E",
    "/console/runs/%3Cimg%20src%3Dx%20onerror%3Dcanary%3D2%3E",
    "/console/keys/%22%3E%3Csvg%20onload%3Dcanary%3D3%3E",
    "/console/containers/%3Ciframe%3E",
    "/console/preview/files/%3Cscript%3Ecanary%3D1%3C%2Fscript%3E",
    "/console/runs?since=%3Cscript%3Ecanary%3D1%3C%2Fscript%3E",
    "/console/audit?since=%3Cimg%20src%3Dx%20onerror%3Dcanary%3D2%3E",
    "/console/usage?by=%3Cscript%3Ecanary%3D1%3C%2Fscript%3E",
];

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_errors_and_forms_that_come_back_show_hostile_content_as_text() {
    let stage = Stage::start(&script());
    let session = stage.sign_in(OPERATOR).await;
    let mut answers = Vec::new();
    for path in WRONG {
        answers.push((path, session.get(path).await));
    }
    let next = "/console/sign-in?next=%22%3E%3Cscript%3Ecanary%3D1%3C%2Fscript%3E";
    answers.push((next, session.get(next).await));
    for text in TEXTS {
        for (path, field) in [
            ("/console/upload/import", "url"),
            ("/console/keys", "name"),
            ("/console/sign-in", "key"),
            ("/console/sign-in", "tenant"),
        ] {
            answers.push((path, session.post(path, &[(field, text)]).await));
        }
    }
    for (path, answer) in answers {
        let raw = raw_in(&answer.text());
        assert!(raw.is_empty(), "{path}: {raw:?}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        let target = answer.header("location");
        assert!(
            target.is_empty() || target.starts_with("/console"),
            "{path}: {target}"
        );
    }
}

/// Opens everything that can be opened, and gives what no page of ours has.
const AUDIT: &str = "(() => {
  document.querySelectorAll('details').forEach((it) => { it.open = true; });
  const places = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href'];
  const bad = [];
  for (const element of document.querySelectorAll('*')) {
    const named = ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'FRAME'];
    let isBad = named.includes(element.tagName) || (element.tagName === 'SCRIPT' && !element.src);
    for (const { name, value } of element.attributes) {
      isBad ||= /^on/i.test(name) || name === 'style';
      const leads = places.includes(name) && /^\\s*(javascript|data:text|http|\\/\\/)/i.test(value);
      // Links of a skill's text may lead elsewhere: somebody has to follow them.
      const isLink = element.tagName === 'A' && /noreferrer/.test(element.rel);
      isBad ||= leads && !(isLink && /^http/i.test(value));
    }
    if (isBad) bad.push(element.outerHTML.slice(0, 200));
  }
  return bad;
})()";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_hostile_runs_or_loads_in_a_browser() {
    let (stage, _) = hostile_stage().await;
    let session = stage.sign_in(OPERATOR).await;
    let pages = crawl(&session, &START).await;
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    browser.assert_quiet().await;
    for (path, answer) in &pages {
        let is_page = answer.header("content-type").starts_with("text/html");
        if path.starts_with("/console/raw/") || !is_page {
            continue;
        }
        browser.open(path).await;
        let bad = browser.value(AUDIT).await;
        assert_eq!(bad, Value::Array(Vec::new()), "{path}");
        browser.assert_quiet().await;
    }
    // Files that a browser would show are opened as documents of their own.
    for (path, answer) in &pages {
        let attached = answer
            .header("content-disposition")
            .starts_with("attachment");
        if path.starts_with("/console/raw/") && !attached {
            browser.open(path).await;
            browser.assert_quiet().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_hostile_runs_while_a_run_is_watched_or_an_upload_is_checked() {
    let (stage, id) = hostile_stage().await;
    let browser = Browser::start(stage.url()).await;
    sign_in(&browser, OPERATOR).await;
    browser
        .open(&format!("/console/playground?skill={id}"))
        .await;
    browser.fill("Model", "demo").await;
    let message = format!("go {}", TEXTS[1]);
    browser.fill("Message", &message).await;
    browser.press("Run").await;
    browser
        .expect("//*[@data-status][.='completed']", "the end of the run")
        .await;
    browser.see("done-it").await;
    let bad = browser.value(AUDIT).await;
    assert_eq!(bad, Value::Array(Vec::new()));
    browser.assert_quiet().await;

    let folder = tempfile::tempdir().unwrap();
    let broken = skill()
        .field(
            "description",
            "'<script>canary=70</script> <img src=x onerror=canary=71>'",
        )
        .field("<img src=x onerror=canary=72>", "1")
        .write_to(folder.path());
    browser.open("/console/upload").await;
    browser.drop_files("#drop", &[&broken]).await;
    browser.see("cannot be published").await;
    let shown = browser.text().await;
    assert!(shown.contains("<script>canary=70</script>"), "{shown}");
    let bad = browser.value(AUDIT).await;
    assert_eq!(bad, Value::Array(Vec::new()));
    browser.assert_quiet().await;
}
