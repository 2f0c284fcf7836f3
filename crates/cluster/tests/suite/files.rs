//! Containers, their files and skills, on both databases.

use crate::support::{OWNER, TestCluster, bash, create, paths, read, run, shared, workers_known};
use prowess_cluster::ClusterSandboxes;
use prowess_sandbox::{
    ContainerSpec, Error, Policy, SandboxLimits, Sandboxes, SkillFiles, check_container_id,
};
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::Database;
use prowess_testkit::SkillFixture;

fn skill(name: &str) -> SkillFiles {
    let fixture = SkillFixture::new(name).file("data.txt", format!("data of {name}"));
    let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
    let options = LoadOptions {
        fallback_name: Some(name),
        ..LoadOptions::default()
    };
    let skill = Skill::load(bundle, &options).skill.unwrap();
    SkillFiles::from_skill(&skill, name)
}

#[tokio::test]
async fn commands_see_the_files_of_clients_and_clients_those_of_commands() {
    for database in [Database::Sqlite, Database::Postgres] {
        let cluster = TestCluster::new(database);
        let gateway = cluster.gateway("gw").await;
        let id = create(&gateway).await;
        check_container_id(&id).unwrap();
        // Files need no worker.
        let put = |path: &'static str, text: &'static str| {
            gateway.put(OWNER, &id, path, text.as_bytes().to_vec())
        };
        put("in/a.txt", "a\n").await.unwrap();
        put("b.txt", "b\n").await.unwrap();
        assert_eq!(read(&gateway, &id, "in/a.txt").await, b"a\n");
        let _worker = cluster.worker("w1").await;
        workers_known(&gateway, 1).await;
        let line = "cat in/a.txt b.txt > c.txt; rm b.txt; chmod 700 in/a.txt; ln -s c.txt link; \
                    mkdir empty; cat c.txt";
        let report = gateway.exec(OWNER, &id, bash(line)).await.unwrap();
        assert_eq!(report.stdout.text, "a\nb\n");
        let has_output = |path: &str| report.outputs.iter().any(|output| output.path == path);
        assert!(has_output("c.txt") && !has_output("link"), "{report:?}");
        assert_eq!(paths(&gateway, &id).await, ["c.txt", "in/a.txt"]);
        assert_eq!(read(&gateway, &id, "c.txt").await, b"a\nb\n");
        gateway.unlink(OWNER, &id, "c.txt").await.unwrap();
        let gone = gateway.get(OWNER, &id, "c.txt").await.unwrap_err();
        assert!(matches!(gone, Error::FileNotFound { .. }), "{gone}");
        assert_eq!(
            gateway.get(OWNER, &id, "empty").await.unwrap_err().code(),
            "file-not-found"
        );
        // The copy of the worker follows.
        let seen = run(&gateway, &id, "ls -F; stat -c %a in/a.txt; readlink link").await;
        assert_eq!(seen, "empty/\nin/\nlink@\n700\nc.txt\n");
        let info = gateway.container(OWNER, &id).await.unwrap();
        assert_eq!((info.bytes, info.domains.len()), (2 + 5, 0));
        let listed = gateway.containers_of_owner(OWNER).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert!(gateway.expiry(OWNER, &id).await.unwrap() > info.used);
        gateway.destroy(OWNER, &id).await.unwrap();
        let gone = gateway.exec(OWNER, &id, bash("true")).await.unwrap_err();
        assert_eq!(gone.code(), "container-not-found");
        let statistics = gateway.statistics();
        assert!(
            statistics.commands.contains(&("exited", 2)),
            "{statistics:?}"
        );
    }
}

#[tokio::test]
async fn another_tenants_container_is_not_found() {
    let cluster = TestCluster::sqlite();
    cluster.add_tenant("other").await;
    let gateway = cluster.gateway("gw").await;
    let id = create(&gateway).await;
    gateway.put(OWNER, &id, "a", b"a".to_vec()).await.unwrap();
    let sandboxes = shared(&gateway);
    let codes = [
        sandboxes
            .get("other", &id, "a")
            .await
            .map(drop)
            .unwrap_err()
            .code(),
        sandboxes
            .put("other", &id, "a", Vec::new())
            .await
            .unwrap_err()
            .code(),
        sandboxes
            .unlink("other", &id, "a")
            .await
            .unwrap_err()
            .code(),
        sandboxes
            .list("other", &id)
            .await
            .map(drop)
            .unwrap_err()
            .code(),
        sandboxes
            .exec("other", &id, bash("true"))
            .await
            .map(drop)
            .unwrap_err()
            .code(),
        sandboxes
            .mount("other", &id, Vec::new())
            .await
            .unwrap_err()
            .code(),
        sandboxes
            .snapshot("other", &id, None)
            .await
            .map(drop)
            .unwrap_err()
            .code(),
        sandboxes
            .expiry("other", &id)
            .await
            .map(drop)
            .unwrap_err()
            .code(),
        sandboxes.destroy("other", &id).await.unwrap_err().code(),
        sandboxes
            .destroy("No tenant", &id)
            .await
            .unwrap_err()
            .code(),
    ];
    assert_eq!(codes, ["container-not-found"; 10]);
    assert!(
        sandboxes
            .containers_of_owner("other")
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn uploads_are_recorded_and_names_and_limits_hold() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let policy = Policy {
        limits: SandboxLimits {
            data_bytes: 1_000,
            ..SandboxLimits::default()
        },
        ..Policy::default()
    };
    let id = Sandboxes::create(&*gateway, OWNER, policy.into())
        .await
        .unwrap();
    let other = create(&gateway).await;
    let knows = |id: String, path: &'static str| {
        let gateway = gateway.clone();
        async move {
            gateway
                .has_upload(OWNER, &id, "file_1", path)
                .await
                .unwrap()
        }
    };
    assert!(!knows(id.clone(), "a").await);
    let uploaded = gateway.upload(OWNER, &id, "file_1", "a", b"x".to_vec());
    uploaded.await.unwrap();
    assert!(knows(id.clone(), "a").await);
    assert!(!knows(id.clone(), "b").await);
    gateway.copy_uploads(OWNER, &id, &other).await.unwrap();
    let setup = gateway.container_setup(OWNER, &other).await.unwrap();
    assert_eq!(setup.uploads, [("file_1".to_owned(), "a".to_owned())]);
    // Its name is not in use there.
    assert!(!knows(other, "a").await);
    gateway.unlink(OWNER, &id, "a").await.unwrap();
    assert!(!knows(id.clone(), "a").await);
    for path in ["../a", "/a", "a//b", "", "a\nb"] {
        let refused = gateway.put(OWNER, &id, path, Vec::new()).await.unwrap_err();
        assert_eq!(refused.code(), "bad-name", "{path:?}");
    }
    gateway.put(OWNER, &id, "full", vec![0; 900]).await.unwrap();
    let refused = gateway.put(OWNER, &id, "more", vec![0; 101]).await;
    assert!(matches!(refused, Err(Error::OverQuota { path, .. }) if path == "more"));
    assert_eq!(paths(&gateway, &id).await, ["full"]);
}

#[tokio::test]
async fn skills_are_mounted_by_digest() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway("gw").await;
    let _worker = cluster.worker("w1").await;
    let spec = ContainerSpec {
        skills: vec![skill("one")],
        ..ContainerSpec::default()
    };
    let id = Sandboxes::create(&*gateway, OWNER, spec).await.unwrap();
    assert_eq!(
        run(&gateway, &id, "cat /skills/one/data.txt").await,
        "data of one"
    );
    gateway.mount(OWNER, &id, vec![skill("two")]).await.unwrap();
    let seen = run(&gateway, &id, "cat /skills/two/data.txt; echo; ls /skills").await;
    assert_eq!(seen, "data of two\none\ntwo\n");
}

#[tokio::test]
async fn containers_expire_and_are_created_again_with_their_id() {
    let cluster = TestCluster::sqlite();
    let gateway = cluster.gateway_with("gw", |settings| {
        settings.container_idle = std::time::Duration::ZERO;
        settings.containers_per_tenant = 2;
    });
    let gateway = gateway.await;
    let ids = [create(&gateway).await, create(&gateway).await];
    let spec = ContainerSpec::from(Policy::default());
    let refused = Sandboxes::create(&*gateway, OWNER, spec.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "too-many-containers");
    let exists = gateway.recreate(OWNER, &ids[0], spec.clone()).await;
    assert_eq!(exists.unwrap_err().code(), "container-exists");
    assert_eq!(ClusterSandboxes::expire(&gateway).await.unwrap(), 2);
    gateway.recreate(OWNER, &ids[0], spec).await.unwrap();
    assert!(paths(&gateway, &ids[0]).await.is_empty());
}
