//! Any bytes as a SKILL.md, read both ways: the strict profile gives the same verdict as
//! the reference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_skill::frontmatter::SourceText;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Profile, Skill, disclose, reference};

fuzz_target!(|bytes: &[u8]| {
    let limits = BundleLimits::default();
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
    if let Ok(source) = SourceText::decode(bytes) {
        let strict = Skill::load(bundle, &options(Profile::Strict));
        let verdict = reference::validate(source, "s", &limits);
        assert_eq!(strict.is_valid(), verdict.is_empty(), "{verdict:?}");
    }
});

fn options(profile: Profile) -> LoadOptions<'static> {
    LoadOptions {
        profile,
        folder: Some("s"),
        ..LoadOptions::default()
    }
}
