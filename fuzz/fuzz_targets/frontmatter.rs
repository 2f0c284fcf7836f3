//! Any bytes as a SKILL.md: read both ways, and held to the promise that the
//! strict profile gives the reference's verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_skill::frontmatter::Source;
use prowess_skill::{Bundle, Limits, Options, Profile, Skill, disclose, reference};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let Ok(bundle) = Bundle::from_skill_md(bytes.to_vec(), &limits) else {
        return;
    };
    let lenient = Skill::load(bundle.clone(), &options(Profile::Lenient));
    if let Some(skill) = &lenient.skill {
        assert!(disclose::catalogue_entry(skill, 100).len() <= 100);
        assert!(!skill.name.is_empty() && !skill.description.is_empty());
    }
    for diagnostic in &lenient.diagnostics {
        if let (Some(place), Some(source)) = (diagnostic.place, &lenient.source) {
            assert!(place.start <= place.end && place.end <= source.text().len() + 1);
            assert!(place.line >= 1 && place.column >= 1);
        }
    }
    if let Ok(source) = Source::decode(bytes) {
        let strict = Skill::load(bundle, &options(Profile::Strict));
        let verdict = reference::validate(source, "s", &limits);
        assert_eq!(strict.is_valid(), verdict.is_empty(), "{verdict:?}");
    }
});

fn options(profile: Profile) -> Options<'static> {
    Options {
        profile,
        folder: Some("s"),
        ..Options::default()
    }
}
