//! The library, as a program uses it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../examples/library.rs"]
#[expect(dead_code, reason = "the example's own main is not called")]
mod example;

use prowess::provider::{ProviderConfig, ProviderKind, ScriptedOptions};
use prowess::skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess::store::{NewSkill, PageRequest, TenantId};
use prowess::{Builder, PromptRequest, Prowess};
use prowess_testkit::SkillFixture;

fn sandboxed() -> Builder {
    Prowess::builder().sandbox(|settings| {
        settings.allow_reduced = true;
        settings.warm = 0;
    })
}

fn scripted(builder: Builder, script: &str) -> Builder {
    let script = ProviderKind::new(ScriptedOptions::Text(script.to_owned()));
    builder.provider(ProviderConfig::new("stage", script))
}

fn skill(name: &str) -> Skill {
    let files = SkillFixture::new(name).body("Say the word.\n").files();
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    Skill::load(bundle, &LoadOptions::default()).skill.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_example_makes_a_gif() {
    let out = tempfile::tempdir().unwrap();
    let saved = example::make_a_ball(sandboxed(), out.path()).await.unwrap();
    assert_eq!(saved, out.path().join("ball.gif"));
    let gif = std::fs::read(saved).unwrap();
    assert!(gif.starts_with(b"GIF89a") && gif.len() > 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_text_and_files() {
    let script = "[[step]]\nwhen.turn = 1\ncalls = [{ name = 'bash_code_execution', input = { command = \
        'mkdir -p a && echo one > a/x.txt && echo two > x.txt' } }]\n\
        [[step]]\ntext = 'Done.'\n";
    let prowess = scripted(sandboxed(), script).open().await.unwrap();
    let request = PromptRequest::new("stage/hero", "Make two files").skill(skill("alpha"));
    let mut answer = prowess.ask(request).await.unwrap();
    prowess.close().await;
    assert_eq!(answer.text, "Done.");
    answer.files.sort_by(|a, b| a.content.cmp(&b.content));
    let contents = answer.files.iter().map(|file| file.content.as_slice());
    assert!(contents.eq([b"one\n", b"two\n"]));
    let mut names: Vec<_> = answer.files.iter().map(|file| &file.name).collect();
    names.sort();
    assert_eq!(names, ["x-2.txt", "x.txt"]);
}

#[tokio::test]
async fn a_question_to_an_unknown_model_is_refused() {
    let refused = prowess::ask("nowhere/m", "hi", None::<&str>).await;
    assert_eq!(refused.unwrap_err().code(), "model-not-found");
}

#[tokio::test]
async fn skills_come_from_the_store_from_memory_and_from_a_folder() {
    let script = "[[step]]\nwhen.turn = 1\nwhen.system = 'alpha'\ncalls = [\
        { name = 'load_skill', input = { name = 'alpha' } },\
        { name = 'load_skill', input = { name = 'beta' } },\
        { name = 'load_skill', input = { name = 'gamma' } }]\n\
        [[step]]\nwhen.tool_result = 'Say the word.'\ntext = 'The word.'\n";
    let builder = scripted(Prowess::builder().no_sandbox(), script);
    let prowess = builder.open().await.unwrap();
    let tenant = TenantId::default_tenant();
    let (alpha, store) = (skill("alpha"), prowess.store());
    let stored = store
        .create_skill(&tenant, &NewSkill::from_skill(&alpha))
        .await;
    let id = stored.unwrap().skill.id;
    let folder = tempfile::tempdir().unwrap();
    SkillFixture::new("gamma")
        .body("Say the word.\n")
        .write_to(folder.path());

    let request = PromptRequest::new("stage/hero", "What is the word?")
        .skill(id.as_str())
        .skill(skill("beta"))
        .skill(folder.path());
    let answer = prowess.run(request).await.unwrap().finish().await.unwrap();
    assert_eq!(answer.text, "The word.");
    assert!(answer.files.is_empty() && answer.container().is_none());
}

#[tokio::test]
async fn a_run_is_on_record_when_the_library_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let builder = Prowess::builder().data_dir(folder.path()).no_sandbox();
    let prowess = scripted(builder, "[[step]]\ntext = 'Hello.'\n")
        .open()
        .await
        .unwrap();
    let run = prowess
        .run(PromptRequest::new("stage/hero", "Hi"))
        .await
        .unwrap();
    let id = run.finish().await.unwrap().run;
    prowess.close().await;
    let again = Prowess::builder()
        .data_dir(folder.path())
        .no_sandbox()
        .open();
    let again = again.await.unwrap();
    let (tenant, page) = (TenantId::default_tenant(), PageRequest::default());
    let runs = again.store().list_runs(&tenant, &page);
    assert_eq!(runs.await.unwrap().items[0].id, id);
}

#[tokio::test]
async fn what_is_wrong_is_reported_before_a_model_is_called() {
    let prowess = scripted(Prowess::builder().no_sandbox(), "[[step]]\ntext = 'x'\n");
    let prowess = prowess.open().await.unwrap();
    let refused = async |request: PromptRequest| {
        let error = prowess.run(request).await.unwrap_err();
        format!("{}: {error}", error.code())
    };
    let new_request = || PromptRequest::new("stage/hero", "hi");
    insta::assert_snapshot!(refused(PromptRequest::new("nowhere/m", "hi")).await, @r#"model-not-found: unknown model "nowhere/m"; use a configured model or PROVIDER/MODEL; providers are stage"#);
    insta::assert_snapshot!(refused(new_request().skill("/no/such/folder")).await, @"source-not-found: /no/such/folder: no such file or folder");
    insta::assert_snapshot!(refused(new_request().skill("skill_unknown")).await, @"skill-not-found: skill `skill_unknown` not found: no skill that is stored here has this id (`skill_…`, not a name), and the provider of model `stage/hero` has no skills of its own; upload it, or name it in `[skills] aliases`");
    insta::assert_snapshot!(refused(new_request().skill(skill("a")).skill(skill("a"))).await, @r#"same-name: two skills are named "a" (sha256:e059f5174da28ceeb49636ec81cbd3bdad1f2ca56c1371e8df8be1a1061983a6 and sha256:e059f5174da28ceeb49636ec81cbd3bdad1f2ca56c1371e8df8be1a1061983a6); select only one of them"#);
    let many = (0..21).fold(new_request(), |request, at| {
        request.skill(skill(&format!("s-{at}")))
    });
    insta::assert_snapshot!(refused(many).await, @"skills-too-many: a request may name 20 skills; it names 21");
}

/// The message of a store that cannot be opened.
#[cfg(any(not(feature = "postgres"), not(feature = "s3")))]
async fn refused_store(change: impl FnOnce(&mut prowess::store::StoreConfig)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut config = prowess::store::StoreConfig::local(folder.path());
    change(&mut config);
    let opened = Prowess::builder().no_sandbox().store(config).open();
    opened.await.unwrap_err().to_string()
}

#[cfg(not(feature = "postgres"))]
#[tokio::test]
async fn a_build_without_postgresql_names_the_feature() {
    let refused = refused_store(|config| config.database = "postgres://h/d".to_owned()).await;
    assert!(
        refused.contains("this build has no PostgreSQL support"),
        "{refused}"
    );
}

#[cfg(not(feature = "s3"))]
#[tokio::test]
async fn a_build_without_s3_names_the_feature() {
    let refused = refused_store(|config| config.blobs = "s3://bucket/prefix".to_owned()).await;
    assert!(
        refused.contains("this build has no S3 support"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_cluster_that_cannot_be_joined_is_refused_with_what_is_missing() {
    use prowess::config::{Config, ConfigOverrides};

    let folder = tempfile::tempdir().unwrap();
    let overrides = ConfigOverrides {
        data_dir: Some(folder.path().to_owned()),
        ..ConfigOverrides::default()
    };
    // The file of a worker, which has no store that others share.
    let text = "[cluster]\nnats = \"nats://127.0.0.1:1\"\n[worker]\nid = \"w\"\n";
    let config = Config::read(text, folder.path(), &overrides).unwrap();
    let refused = Prowess::builder().config(&config).open().await.unwrap_err();
    assert_eq!(refused.code(), "cluster-unavailable");
    let expected = match cfg!(feature = "cluster") {
        true => "cannot join the cluster: the object storage cannot sign URLs for workers; set ",
        false => "cannot join the cluster: this build has no clusters: ",
    };
    assert!(refused.to_string().starts_with(expected), "{refused}");
}
