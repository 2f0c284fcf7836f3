//! What is retained, what is evicted, and what is refused.

use super::super::SkillFile;
use super::*;
use std::sync::mpsc;

const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// Disk usage of one of the skills here: a folder, a file and its bytes.
const SKILL_BYTES: u64 = 2 * 4096 + 1000;

struct Place {
    state: tempfile::TempDir,
    skills: SkillCache,
}

fn place(max_bytes: u64) -> Place {
    let state = tempfile::tempdir().unwrap();
    fs::create_dir(state.path().join("skills")).unwrap();
    let skills = SkillCache::new(state.path(), max_bytes, LONG);
    Place { state, skills }
}

fn skill(digest: &str) -> SkillFiles {
    SkillFiles {
        name: "pdf".into(),
        digest: digest.into(),
        files: vec![SkillFile {
            path: "SKILL.md".into(),
            bytes: vec![b'x'; 1000].into(),
            executable: false,
        }],
    }
}

fn nothing() -> HashSet<String> {
    HashSet::new()
}

impl Place {
    fn add(&self, digest: &str, mounted: MountedPaths<'_>) -> Result<SkillsGuard, Error> {
        self.skills.provide(&[skill(digest)], mounted)
    }

    /// Sets how long ago a skill was last used.
    fn used_before(&self, digest: &str, ago: Duration) {
        let folder = File::open(self.state.path().join("skills").join(digest)).unwrap();
        folder.set_modified(SystemTime::now() - ago).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state.path().join("skills")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != LOCK_FILE).collect();
        names.sort();
        names
    }
}

#[test]
fn a_skill_is_measured_as_it_is_counted_ahead() {
    let place = place(1 << 20);
    let mut deep = skill("deep");
    for path in ["a/b/c.txt", "a/d.txt", "e/f.txt"] {
        let bytes = path.to_owned().into();
        deep.files.push(SkillFile {
            path: path.into(),
            bytes,
            executable: false,
        });
    }
    place
        .skills
        .provide(std::slice::from_ref(&deep), &nothing)
        .unwrap();
    let written = disk_bytes(&place.state.path().join("skills/deep")).unwrap();
    assert_eq!(deep.disk_bytes(), written);
    assert_eq!(place.skills.known().bytes, written);
    assert_eq!(skill("x").disk_bytes(), SKILL_BYTES);
}

#[test]
fn many_skills_that_no_container_names_stay_within_the_bound() {
    let place = place(4 * SKILL_BYTES);
    for number in 0..40 {
        place.add(&format!("d{number}"), &nothing).unwrap();
        assert!(place.names().len() <= 4, "{:?}", place.names());
    }
    assert!(place.names().contains(&"d39".to_owned()));
}

#[test]
fn the_ones_not_used_for_longest_go_and_those_that_containers_name_stay() {
    let place = place(4 * SKILL_BYTES);
    for (digest, minutes) in [("a", 4), ("b", 3), ("c", 2), ("d", 1)] {
        place.add(digest, &nothing).unwrap();
        place.used_before(digest, Duration::from_secs(minutes * 60));
    }
    place.add("b", &nothing).unwrap();
    let mounted = || HashSet::from(["skills/a".to_owned()]);
    place.add("e", &mounted).unwrap();
    assert_eq!(
        place.names(),
        ["a", "b", "e"],
        "and a bit more room than needed"
    );
    // The same folder, as another server finds it.
    let again = SkillCache::new(place.state.path(), 4 * SKILL_BYTES, LONG);
    assert_eq!(again.known().bytes, 3 * SKILL_BYTES);
}

#[test]
fn what_does_not_fit_beside_those_that_containers_name_is_refused_and_not_written() {
    let place = place(2 * SKILL_BYTES);
    let mounted = || HashSet::from(["skills/a".to_owned(), "skills/b".to_owned()]);
    place.add("a", &mounted).unwrap();
    place.add("b", &mounted).unwrap();
    let full = place.add("c", &mounted).unwrap_err();
    assert_eq!(full.code(), "disk-full");
    assert!(full.to_string().contains("skills_size"), "{full}");
    assert_eq!(place.names(), ["a", "b"]);
    assert_eq!(place.skills.known().reserved, 0);
    place.add("b", &mounted).unwrap();
    place
        .add("c", &|| HashSet::from(["skills/a".to_owned()]))
        .unwrap();
    assert_eq!(place.names(), ["a", "c"]);
}

#[test]
fn a_skill_stays_while_a_container_is_being_made_with_it() {
    let place = place(2 * SKILL_BYTES);
    let in_use = place.add("a", &nothing).unwrap();
    place.used_before("a", Duration::from_secs(60));
    place.add("b", &nothing).unwrap();
    let is_named = Mutex::new(false);
    let (checked, looks) = mpsc::channel();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mounted = || {
                checked.send(()).unwrap();
                // The container's file was written before the lock was released.
                assert!(*is_named.lock().unwrap());
                HashSet::from(["skills/a".to_owned()])
            };
            place.add("c", &mounted).unwrap();
        });
        assert!(looks.try_recv().is_err());
        *is_named.lock().unwrap() = true;
        drop(in_use);
        other.join().unwrap();
    });
    assert!(looks.try_recv().is_ok());
    assert_eq!(place.names(), ["a", "c"]);
}

#[test]
fn what_nobody_has_used_for_long_goes_and_so_does_what_a_crash_left() {
    let place = place(1 << 20);
    for digest in ["old", "named", "new", "part"] {
        place.add(digest, &nothing).unwrap();
    }
    let folder = place.state.path().join("skills");
    fs::rename(folder.join("part"), folder.join(".part-x")).unwrap();
    for name in ["old", "named", ".part-x"] {
        place.used_before(name, LONG * 2);
    }
    let mounted = || HashSet::from(["skills/named".to_owned()]);
    place.skills.tidy(&mounted).unwrap();
    assert_eq!(place.names(), ["named", "new"]);
}
