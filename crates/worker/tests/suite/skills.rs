//! Skills by digest.

use crate::gateway::{TestGateway, ended, failed};
use crate::support::TestWorker;
use bytes::Bytes;
use prowess_bus::Bus;
use prowess_skill::{Bundle, BundleLimits, Digest, Manifest};
use prowess_testkit::SkillFixture;
use prowess_worker::protocol::{Ask, MountedSkill, MountedSkillFile, RemoteError};

/// A skill as a gateway names it, with its contents.
fn mounted(fixture: &SkillFixture) -> (MountedSkill, Vec<(Digest, Bytes)>) {
    let bundle = Bundle::from_files(fixture.files(), &BundleLimits::default()).unwrap();
    let manifest = Manifest::from_bundle(&bundle);
    let files = manifest.files().iter().map(|file| MountedSkillFile {
        path: file.path.to_string(),
        digest: file.digest,
        size: file.size,
        executable: file.executable,
    });
    let skill = MountedSkill {
        folder: fixture.name().to_owned(),
        digest: manifest.digest(),
        files: files.collect(),
    };
    let contents = bundle.files().map(|(_, file)| {
        let digest = Digest::from_content(&file.data);
        (digest, file.data.clone())
    });
    (skill, contents.collect())
}

fn fixture(name: &str) -> SkillFixture {
    SkillFixture::new(name).file("data.txt", format!("data of {name}"))
}

#[tokio::test]
async fn skills_are_mounted_and_fetched_once() {
    let bus = Bus::local();
    let worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let (one, contents) = mounted(&fixture("one"));
    gateway.contents.extend(contents);
    let (other, contents) = mounted(&fixture("other"));
    gateway.contents.extend(contents);
    let mut request = gateway.request("cat /skills/one/data.txt; ls /skills");
    request.skills = vec![one.clone()];
    let seen = ended(gateway.exec(request).await.0);
    assert_eq!(seen.report.stdout.text, "data of oneone\n");
    assert_eq!(worker.service.beat().skills, [one.key()]);
    // A skill that is loaded later.
    let mut request = gateway.request("cat /skills/one/data.txt /skills/other/data.txt");
    request.skills = vec![one.clone(), other.clone()];
    let seen = ended(gateway.exec(request).await.0);
    assert_eq!(seen.report.stdout.text, "data of onedata of other");
    // Another container of the same skills needs nothing of the gateway.
    let asks = gateway.asks.len();
    assert!(asks > 0);
    let mut second = TestGateway::new(&bus);
    let mut request = second.request("cat /skills/other/data.txt; ls /skills");
    request.skills = vec![other];
    let seen = ended(second.exec(request).await.0);
    assert_eq!(seen.report.stdout.text, "data of otherother\n");
    assert_eq!(second.asks, Vec::<Ask>::new());
    // A skill that is gone is not there any more.
    let mut request = gateway.request("ls /skills");
    request.skills = vec![one];
    let seen = ended(gateway.exec(request).await.0);
    assert_eq!(seen.report.stdout.text, "one\n");
}

#[tokio::test]
async fn a_skill_with_other_files_than_its_digest_is_refused() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let (real, contents) = mounted(&fixture("one"));
    gateway.contents.extend(contents);
    let evil = Bytes::from_static(b"evil");
    let evil_digest = Digest::from_content(&evil);
    gateway.contents.insert(evil_digest, evil);
    // Other files under the digest that other tenants use.
    let mut forged = real.clone();
    let file = forged
        .files
        .iter_mut()
        .find(|file| file.path == "data.txt")
        .unwrap();
    (file.digest, file.size) = (evil_digest, 4);
    // A path that leaves the skill's folder.
    let mut escaping = real.clone();
    escaping.files[0].path = "../../escape".into();
    for skill in [forged, escaping] {
        let mut request = gateway.request("echo ran");
        request.skills = vec![skill];
        let (last, conversation) = gateway.exec(request).await;
        assert_eq!(failed(last), RemoteError::BAD_REQUEST);
        assert!(conversation.output.is_empty());
    }
    let mut request = gateway.request("cat /skills/one/data.txt");
    request.skills = vec![real];
    let seen = ended(gateway.exec(request).await.0);
    assert_eq!(seen.report.stdout.text, "data of one");
}
