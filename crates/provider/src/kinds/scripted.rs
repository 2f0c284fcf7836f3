//! A model that follows a script; see [`crate::scripted`].

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::KindOptions;
use crate::descriptor::{
    ConfigPaths, KindBackend, KindDescriptor, OptionError, OptionsType, WrittenOptions,
};

pub(super) static KIND: KindDescriptor = KindDescriptor {
    about: "A model that follows a script, without any network: for tests and demonstrations.",
    provider: None,
    authentication: "none",
    example: "script = \"script.toml\"\n",
    ..KindDescriptor::new(
        "scripted",
        "Scripted",
        OptionsType::new::<ScriptSetting>(),
        KindBackend::Scripted,
    )
};

/// The script of a scripted model.
#[derive(Debug, Clone)]
pub enum ScriptedOptions {
    /// In a file.
    File(PathBuf),
    /// As text.
    Text(String),
}

/// The options as configuration files have them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct ScriptSetting {
    /// The script, relative to the folder of the configuration.
    script: Option<PathBuf>,
}

impl KindOptions for ScriptedOptions {
    fn kind() -> &'static KindDescriptor {
        &KIND
    }
}

impl WrittenOptions for ScriptSetting {
    type Options = ScriptedOptions;

    fn check(self, paths: &ConfigPaths<'_>) -> Result<ScriptedOptions, OptionError> {
        let Some(script) = self.script else {
            let reason = "a scripted provider needs a script: script = \"script.toml\"";
            return Err(OptionError::new("script", reason));
        };
        let path = paths.path("script", &script)?;
        Ok(ScriptedOptions::File(paths.folder.join(path)))
    }
}
