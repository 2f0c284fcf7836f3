//! Which layers are kept and which are evicted.

use super::*;

struct Place {
    state: tempfile::TempDir,
    layers: LayerStore,
    mounted: Mutex<HashSet<String>>,
}

/// Disk usage of a layer here in addition to the bytes of its one file.
const LAYER_BYTES: u64 = 4096;

fn place(max_bytes: u64) -> Place {
    let state = tempfile::tempdir().unwrap();
    fs::create_dir(state.path().join("layers")).unwrap();
    let layers = LayerStore::new(state.path(), false, max_bytes);
    let mounted = Mutex::default();
    Place {
        state,
        layers,
        mounted,
    }
}

fn layer(key: &str) -> Layer {
    Layer::local(key.into(), None)
}

impl Place {
    fn add(&self, key: &str, owner: &str, bytes: usize) -> Result<(), Error> {
        let built = self.state.path().join("built");
        fs::create_dir(&built).unwrap();
        fs::write(built.join("x"), vec![0; bytes]).unwrap();
        let added = self.layers.add(&layer(key), "built", owner, &|| {
            self.mounted.lock().unwrap().clone()
        });
        if built.exists() {
            fs::remove_dir_all(&built).unwrap();
        }
        added
    }

    /// Sets when a layer was last used, in seconds since the epoch.
    fn used(&self, key: &str, seconds: i64) {
        let then = Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        let folder = open(&self.state.path().join("layers").join(key)).unwrap();
        let times = Timestamps {
            last_access: then,
            last_modification: then,
        };
        rustix::fs::futimens(folder, &times).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state.path().join("layers")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.ends_with(".json"))
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_one_not_used_for_longest_is_removed() {
    let place = place(3500 + 3 * LAYER_BYTES);
    for (key, used) in [("a", 20), ("b", 10), ("c", 30)] {
        place.add(key, "o", 1000).unwrap();
        place.used(key, used);
    }
    place.add("d", "o", 1000).unwrap();
    assert_eq!(place.names(), ["a", "c", "d"]);
    assert!(place.layers.has(&layer("a")), "and that counts as a use");
    place.add("e", "o", 1000).unwrap();
    assert_eq!(place.names(), ["a", "d", "e"]);
    assert!(!place.layers.has(&layer("c")));
}

#[test]
fn who_takes_most_loses_layers_and_not_the_others() {
    let place = place(4500 + 4 * LAYER_BYTES);
    place.add("victim", "one", 1000).unwrap();
    place.used("victim", 1);
    for number in 0..8 {
        place
            .add(&format!("greedy{number}"), "another", 1000)
            .unwrap();
    }
    assert_eq!(place.names().len(), 4);
    assert!(place.names().contains(&"victim".to_owned()));
}

#[test]
fn what_is_in_use_stays_and_then_there_may_be_no_space() {
    let place = place(2500 + 2 * LAYER_BYTES);
    place.add("a", "o", 1000).unwrap();
    place.add("b", "o", 1000).unwrap();
    let mounts = |key: &str| [(format!("layers/{key}"), LAYOUT.packages.to_owned())];
    let a = lock_mounted_layer(place.state.path(), &mounts("a")).unwrap();
    let b = lock_mounted_layer(place.state.path(), &mounts("b")).unwrap();
    let full = place.add("c", "p", 1000).unwrap_err().to_string();
    assert!(full.contains("no space"), "{full}");
    assert_eq!(place.names(), ["a", "b"]);
    drop(b);
    place.add("c", "p", 1000).unwrap();
    assert_eq!(place.names(), ["a", "c"]);
    drop(a);
    let gone = lock_mounted_layer(place.state.path(), &mounts("b")).unwrap_err();
    assert_eq!(gone.code(), "layer-gone");
    let large = place.add("d", "p", 13_000).unwrap_err().to_string();
    assert!(large.contains("too large"), "{large}");
}

#[test]
fn what_containers_name_goes_last_unless_its_owner_takes_more_than_half() {
    let place = place(4500 + 4 * LAYER_BYTES);
    place.mounted.lock().unwrap().insert("layers/a".into());
    for (key, owner) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "three")] {
        place.add(key, owner, 1000).unwrap();
    }
    place.used("a", 1);
    // Of the owner with the highest usage, but not the layer that a container names.
    place.add("e", "four", 1000).unwrap();
    assert_eq!(place.names(), ["a", "c", "d", "e"]);
    for key in ["f", "g", "h"] {
        place.add(key, key, 1000).unwrap();
    }
    assert!(place.names().contains(&"a".to_owned()));
    // An owner above half of the total also loses layers that its containers name.
    let mut mounted = place.mounted.lock().unwrap();
    mounted.extend(["layers/x".to_owned(), "layers/y".to_owned()]);
    drop(mounted);
    for key in ["x", "y", "z"] {
        place.add(key, "greedy", 1000).unwrap();
    }
    place.add("w", "five", 1000).unwrap();
    assert!(
        place.names().contains(&"a".to_owned()),
        "{:?}",
        place.names()
    );
    assert_eq!(place.names().len(), 4);
}

#[test]
fn layers_of_empty_files_count() {
    let place = place(200 * LAYER_BYTES);
    for key in ["a", "b", "c"] {
        let built = place.state.path().join("built");
        fs::create_dir(&built).unwrap();
        for number in 0..80 {
            fs::write(built.join(number.to_string()), "").unwrap();
        }
        place
            .layers
            .add(&layer(key), "built", "o", &HashSet::new)
            .unwrap();
        place.used(key, 1);
    }
    assert_eq!(place.names().len(), 2);
}

#[test]
fn a_link_in_place_of_a_layer_is_no_layer() {
    let place = place(2500 + 2 * LAYER_BYTES);
    let layers = place.state.path().join("layers");
    fs::create_dir(place.state.path().join("sessions")).unwrap();
    std::os::unix::fs::symlink("../sessions", layers.join("a")).unwrap();
    assert!(!place.layers.has(&layer("a")));
    assert!(place.add("a", "o", 10).is_err(), "nor is it replaced");
    let mounts = [("layers/a".to_owned(), LAYOUT.packages.to_owned())];
    assert!(lock_mounted_layer(place.state.path(), &mounts).is_err());
}
