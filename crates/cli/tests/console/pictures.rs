//! Pictures of pages: all of them in `target/console-screenshots`, and some in `docs/images`,
//! which are replaced only if `PROWESS_UPDATE_PICTURES` is set: each run has other ids and times.

use std::fs;
use std::path::{Path, PathBuf};

/// Pictures of the guide, and the page that each shows.
const DOCS: [(&str, &str); 4] = [
    ("console-run.png", "run-details"),
    ("console-skill.png", "skill-light-1280"),
    ("console-compare.png", "compare-two"),
    ("console-playground.png", "run-live"),
];

/// Bytes of a picture in the repository.
const MAX_BYTES: u64 = 250_000;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Keeps a picture.
pub(crate) fn save(name: &str, picture: &[u8]) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join("console-screenshots");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    let updates = std::env::var_os("PROWESS_UPDATE_PICTURES").is_some();
    for (file, _) in DOCS.iter().filter(|(_, page)| updates && *page == name) {
        fs::write(repository().join("docs/images").join(file), picture).unwrap();
    }
}

#[test]
fn the_pictures_of_the_guide_are_there_and_small() {
    let guide = fs::read_to_string(repository().join("docs/console.md")).unwrap();
    for (file, _) in DOCS {
        assert!(guide.contains(&format!("(images/{file})")), "{file}");
        let path = repository().join("docs/images").join(file);
        let content = fs::read(&path).unwrap();
        assert!(content.starts_with(b"\x89PNG"), "{file}");
        assert!(fs::metadata(&path).unwrap().len() <= MAX_BYTES, "{file}");
    }
    assert_eq!(guide.matches("](images/").count(), DOCS.len());
}
