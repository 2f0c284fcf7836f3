//! A gateway that stores the example skills, before the model in every vendor's API.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::installed::succeeded;
use crate::model::{ModelPlan, ScriptedModel};
use crate::server::{MASTER, TestServer, prowess};
use crate::vendors::vendor::Vendor;

/// The gateway and its model; both end when this is dropped.
pub(crate) struct ProgramGateway {
    pub(crate) server: TestServer,
    pub(crate) model: ScriptedModel,
    /// The id of the skill `bouncing-ball`.
    pub(crate) skill: String,
    _config: TempDir,
}

impl ProgramGateway {
    pub(crate) fn start(plan: ModelPlan) -> ProgramGateway {
        let model = ScriptedModel::start(plan);
        let mut text = String::new();
        for vendor in Vendor::ALL {
            let kind = vendor.kind().replace("{url}", model.url());
            let name = vendor.name();
            writeln!(text, "[providers.{name}]\n{kind}\napi_key = 'k'").unwrap();
            writeln!(text, "attempts = 1").unwrap();
        }
        for vendor in Vendor::ALL {
            let (alias, name) = (alias(vendor), vendor.name());
            writeln!(text, "[[models]]\nname = '{alias}'\nprovider = '{name}'").unwrap();
            writeln!(text, "model = 'm1'").unwrap();
        }
        let config = tempfile::tempdir().unwrap();
        let path = config.path().join("prowess.toml");
        std::fs::write(&path, text).unwrap();
        let server = TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())]);
        push(&server, "csv-summary");
        let skill = push(&server, "bouncing-ball");
        ProgramGateway {
            server,
            model,
            skill,
            _config: config,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }
}

/// The vendor's model under a name without a slash, for programs that put it into a path.
pub(crate) fn alias(vendor: Vendor) -> String {
    format!("on-{}", vendor.name())
}

/// The vendor's model.
pub(crate) fn model_of(vendor: Vendor) -> String {
    format!("{}/m1", vendor.name())
}

/// Where the example skills are.
pub(crate) fn skills() -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills");
    examples.canonicalize().unwrap()
}

/// Stores an example skill and gives its id.
fn push(server: &TestServer, skill: &str) -> String {
    let mut push = prowess(server.folder());
    push.args(["skill", "push", "--server", server.url()])
        .arg(skills().join(skill))
        .env("PROWESS_API_KEY", MASTER);
    let printed = succeeded(&mut push);
    let mut words = printed.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .find(|word| word.starts_with("skill_"))
        .unwrap()
        .to_owned()
}
