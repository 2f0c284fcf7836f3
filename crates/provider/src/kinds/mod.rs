//! The kinds of providers: one file per kind, and nothing else.
//!
//! A file has a `static KIND: KindDescriptor` (see [`KindDescriptor`] for what it says), the
//! type of the kind's own options, and how the kind is called if that differs from OpenAI's API.
//! `build.rs` of this crate collects the files, so that adding one is all that a new kind needs:
//! routing, configuration files, their JSON schema, the import from LiteLLM, telemetry and
//! `docs/providers.md` follow from the list below. A kind knows `descriptor` and `upstream`; it
//! does not know routes, targets or other kinds, except those whose API it has.

pub use crate::descriptor::{
    AnyOptions, BaseUrl, ConfigPaths, KindDescriptor, LitellmModel, LitellmNames, OptionError,
    OptionsType,
};

// The modules of this folder, and `KINDS`, sorted by file name.
include!(concat!(env!("OUT_DIR"), "/kinds.rs"));

/// All kinds, sorted by name.
pub fn all() -> &'static [&'static KindDescriptor] {
    &KINDS
}

/// The kind with this name or alias.
pub fn find(name: &str) -> Option<&'static KindDescriptor> {
    KINDS.iter().copied().find(|kind| kind.is_named(name))
}

/// The names of all kinds in configuration files, without aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

/// The value of `gen_ai.provider.name` for a kind.
pub fn telemetry_name(kind: &str) -> &str {
    find(kind).map_or(kind, |kind| kind.telemetry_name)
}

#[cfg(test)]
mod tests;
