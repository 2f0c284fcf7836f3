//! The list of skills, the page of one, its versions, and the comparison of two.

use http::StatusCode;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{KeyScope, NewSkill, NewVersion, SkillCost, TenantId, UsageRow};
use prowess_testkit::SkillFixture;

use crate::browser::Console;
use crate::sign_in::{locked, new_key, open, sign_in, submit};

fn load(fixture: &SkillFixture) -> Skill {
    let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
    Skill::load(bundle, &LoadOptions::default()).skill.unwrap()
}

/// Stores a skill and returns its id.
pub(crate) async fn store_skill(console: &Console, tenant: &str, fixture: &SkillFixture) -> String {
    let tenant = TenantId::new(tenant).unwrap();
    let skill = load(fixture);
    let new = NewSkill::from_skill(&skill);
    let made = console.app.store().create_skill(&tenant, &new).await;
    made.unwrap().skill.id
}

async fn store_version(console: &Console, id: &str, fixture: &SkillFixture) {
    let skill = load(fixture);
    let new = NewVersion::from_skill(&skill);
    let tenant = TenantId::default_tenant();
    let made = console.app.store().create_version(&tenant, id, &new).await;
    made.unwrap();
}

#[tokio::test]
async fn an_empty_list_gives_the_next_command() {
    let console = Console::start().await;
    let page = console.get("/console/skills").await;
    assert!(
        page.main().contains("prowess skill push"),
        "{}",
        page.main()
    );
    let page = console.get("/console").await;
    assert_eq!(page.header("location"), "/console/skills");
}

#[tokio::test]
async fn skills_are_listed_in_pages() {
    let console = Console::start().await;
    for number in 0..53 {
        let name = format!("skill-{number:02}");
        store_skill(&console, "default", &SkillFixture::new(&name)).await;
    }
    let page = console.get("/console/skills").await;
    let first = page.main();
    assert!(first.contains(">skill-52<") && !first.contains(">skill-02<"));
    let next = first.split("<a href=\"/console/skills?after=").nth(1);
    let next = next.unwrap().split('"').next().unwrap();
    let page = console.get(&format!("/console/skills?after={next}")).await;
    let second = page.main();
    assert!(second.contains(">skill-02<") && !second.contains(">skill-03<"));
    assert!(!second.contains("Next page"));
}

#[tokio::test]
async fn searching_gives_only_rows_to_htmx_and_a_page_to_others() {
    let console = Console::start().await;
    let pdf = SkillFixture::new("pdf-forms").field("description", "Fills in PDF forms.");
    store_skill(&console, "default", &pdf).await;
    let chart = SkillFixture::new("charts").field("description", "Draws bar charts.");
    store_skill(&console, "default", &chart).await;
    let page = console.get("/console/skills?q=fill+a+form").await;
    let main = page.main();
    assert!(
        main.contains("pdf-forms") && !main.contains(">charts<"),
        "{main}"
    );
    let headers = [("hx-request", "true")];
    let rows = console
        .get_with("/console/skills?q=fill+a+form", &headers)
        .await;
    assert!(!rows.text().contains("<html"), "{}", rows.text());
    assert!(rows.text().contains("pdf-forms"));
    let none = console.get("/console/skills?q=%3Cscript%3Ezzz").await;
    assert!(
        none.main().contains("&#60;script&#62;zzz"),
        "{}",
        none.main()
    );
}

#[tokio::test]
async fn a_skill_is_shown_rendered_raw_and_by_files() {
    let console = Console::start().await;
    let fixture = SkillFixture::new("greeter")
        .body("# Greet\n\nSee [docs](https://example.com) <script>alert(1)</script>\n")
        .file("data/table.csv", "name,count\nAda,3\n");
    let id = store_skill(&console, "default", &fixture).await;
    let here = format!("/console/skills/{id}");
    let page = console.get(&here).await;
    let main = page.main();
    assert!(main.contains("<h2>Greet</h2>"), "{main}");
    assert!(
        main.contains("rel=\"noopener noreferrer nofollow\""),
        "{main}"
    );
    assert!(!main.contains("<script>alert"), "{main}");
    assert!(main.contains(&format!("data-copy=\"{id}\"")), "{main}");
    assert!(page.text().contains("/v1/skills/"), "as curl");
    let raw = console.get(&format!("{here}?raw=1")).await;
    assert!(raw.main().contains("name: greeter"), "{}", raw.main());
    let files = console
        .get(&format!("{here}?tab=files&file=data%2Ftable.csv"))
        .await;
    assert!(files.main().contains("<td>Ada</td>"), "{}", files.main());
    let none = console.get(&format!("{here}?tab=files&file=..%2Fx")).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let install = console.get(&format!("{here}?tab=install")).await;
    for line in ["client.messages.create", "claude mcp add", "npx skills add"] {
        assert!(install.main().contains(line), "{line}");
    }
    let usage = console.get(&format!("{here}?tab=usage")).await;
    assert!(usage.main().contains("No run has used"), "{}", usage.main());
    assert!(usage.main().contains("prowess run"), "{}", usage.main());
    record_usage(&console, &id).await;
    let usage = console.get(&format!("{here}?tab=usage")).await;
    let main = usage.main();
    assert!(
        main.contains("<dt>Runs that used it</dt><dd>1</dd>"),
        "{main}"
    );
    assert!(main.contains("<dt>Input tokens</dt><dd>600</dd>"), "{main}");
    assert!(main.contains("<dt>Last used</dt>"), "{main}");
    let zip = console.get(&format!("{here}/versions/1/download")).await;
    assert_eq!(zip.header("content-type"), "application/zip");
    assert!(zip.header("content-disposition").starts_with("attachment"));
    assert!(zip.body.starts_with(b"PK"));
}

/// A run that loaded and used a skill.
async fn record_usage(console: &Console, id: &str) {
    let mut cost = SkillCost::new("greeter", Some(id));
    cost.runs.offered = 1;
    cost.runs.loaded = 1;
    cost.runs.used = 1;
    cost.loaded.input_tokens = 600;
    let row = UsageRow {
        tenant: TenantId::default_tenant(),
        key: None,
        model: "m".to_owned(),
        provider: "p".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "messages".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 700,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_nanos: 0,
        millis: 1,
        sandbox_millis: 0,
        skills: vec![cost],
    };
    console.app.store().record_usage(&[row]).await.unwrap();
}

#[tokio::test]
async fn versions_get_labels_notes_and_an_end() {
    let console = Console::start().await;
    let fixture = SkillFixture::new("greeter");
    let id = store_skill(&console, "default", &fixture).await;
    store_version(&console, &id, &fixture.body("Say hello.\n")).await;
    let here = format!("/console/skills/{id}");
    let versions = format!("{here}?tab=versions");

    let fields = [("label", "staging"), ("version", "2")];
    let page = console.post(&format!("{here}/labels"), &fields).await;
    assert_eq!(page.header("location"), format!("{versions}&done=label"));
    let page = console.get(page.header("location")).await;
    assert!(page.main().contains("The label is set."));
    assert!(
        page.main().contains("staging</span> is version 2"),
        "{}",
        page.main()
    );

    let notes = [("notes", "warmer <b>words</b>")];
    console
        .post(&format!("{here}/versions/2/notes"), &notes)
        .await;
    console
        .post(&format!("{here}/default"), &[("version", "2")])
        .await;
    let page = console.get(&here).await;
    assert!(
        page.main().contains("warmer &#60;b&#62;words"),
        "{}",
        page.main()
    );

    let why = [("reason", "it leaks"), ("move_to", "1")];
    let page = console
        .post(&format!("{here}/versions/2/revoke"), &why)
        .await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text());
    let page = console.get(&format!("{here}/versions/2")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.main().contains("it leaks"), "{}", page.main());
    console
        .post(&format!("{here}/versions/2/restore"), &[])
        .await;
    console
        .post(&format!("{here}/versions/2/delete"), &[])
        .await;
    let page = console.get(&format!("{here}/versions/2")).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND, "{}", page.text());

    let wrong = console
        .post(&format!("{here}/delete"), &[("confirm", "other")])
        .await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    console
        .post(&format!("{here}/delete"), &[("confirm", "greeter")])
        .await;
    assert_eq!(console.get(&here).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn two_versions_are_compared() {
    let console = Console::start().await;
    let fixture = SkillFixture::new("greeter").body("Say hello.\n");
    let id = store_skill(&console, "default", &fixture).await;
    let changed = SkillFixture::new("greeter")
        .body("Say <i>hi</i>.\n")
        .file("new.txt", "x\n");
    store_version(&console, &id, &changed).await;
    let page = console
        .get(&format!("/console/skills/{id}/compare?from=1&to=2"))
        .await;
    let main = page.main();
    assert!(main.contains("diff-del\">- Say hello."), "{main}");
    assert!(main.contains("diff-add\">+ Say &#60;i&#62;hi"), "{main}");
    assert!(main.contains("new.txt"), "{main}");
    assert!(main.contains("Make version 2 the default"), "{main}");
    let same = console
        .get(&format!("/console/skills/{id}/compare?from=1&to=1"))
        .await;
    assert!(same.main().contains("Nothing changed"), "{}", same.main());
}

#[tokio::test]
async fn a_key_that_may_only_read_sees_its_tenant_and_changes_nothing() {
    let console = Console::with(locked()).await;
    let (_, key) = new_key(&console, "acme", &[KeyScope::Read]).await;
    let (_, other) = new_key(&console, "other", &[KeyScope::Admin]).await;
    let own = store_skill(&console, "acme", &SkillFixture::new("ours")).await;
    let foreign = store_skill(&console, "other", &SkillFixture::new("theirs")).await;
    let cookie = sign_in(&console, &key).await;
    let page = open(&console, &cookie, "/console/skills").await;
    assert!(page.main().contains(">ours<") && !page.main().contains("theirs"));
    let page = open(&console, &cookie, &format!("/console/skills/{own}")).await;
    assert!(!page.main().contains("Upload a version"));
    for path in ["", "?tab=versions", "/compare", "/versions/1/download"] {
        let path = format!("/console/skills/{foreign}{path}");
        let page = open(&console, &cookie, &path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
    }
    for (path, fields) in [
        ("labels", vec![("label", "x"), ("version", "1")]),
        ("default", vec![("version", "1")]),
        ("versions/1/notes", vec![("notes", "x")]),
        ("versions/1/revoke", vec![("reason", "x")]),
        ("delete", vec![("confirm", "ours")]),
    ] {
        let path = format!("/console/skills/{own}/{path}");
        let page = submit(&console, &cookie, &path, &fields).await;
        assert_eq!(
            page.status,
            StatusCode::FORBIDDEN,
            "{path}: {}",
            page.text()
        );
    }
    for path in [
        "/console/keys",
        "/console/usage",
        "/console/audit",
        "/console/providers",
    ] {
        let page = open(&console, &cookie, path).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
    }
    // Two browsers, two tenants.
    let theirs = sign_in(&console, &other).await;
    let page = open(&console, &theirs, "/console/skills").await;
    assert!(page.main().contains(">theirs<") && !page.main().contains(">ours<"));
}
