//! Package layers: built in a session of their own, once, and then kept.

use super::Sandbox;
use crate::egress::Proxy;
use crate::error::{During, Error};
use crate::execution::{Command, Execution, Outcome};
use crate::packages::{self, Layer, PackageIndex, Requirements};
use crate::policy::Policy;
use std::fs;
use std::sync::Arc;

/// The owner of sessions in which layers are built; no tenant can have this name.
const OWNER: &str = "\0layers";

/// Tells what a layer depends on beside its requirements.
const INTERPRETER: &str =
    "import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform())";

impl Sandbox {
    /// The layer of these requirements, built now if it is not there yet.
    ///
    /// # Errors
    /// [`Error::Layer`] when there is no index, or it cannot satisfy the requirements;
    /// [`Error::Unsupported`] when the backend cannot reach one.
    pub async fn layer(&self, requirements: &Requirements) -> Result<Layer, Error> {
        let Some(index) = &self.inner.packages else {
            let why = "no package index is set".into();
            return Err(Error::Layer { why });
        };
        if !self.inner.has_proxy {
            let what = "package layers";
            return Err(Error::Unsupported { what });
        }
        let _building = self.inner.building.lock().await;
        let policy = Policy {
            limits: packages::limits(),
            ..Policy::default()
        };
        let id = self.create(OWNER, policy.into()).await?;
        let built = self.build(&id, index, requirements).await;
        self.destroy(OWNER, &id).await?;
        built
    }

    async fn build(
        &self,
        id: &str,
        index: &PackageIndex,
        requirements: &Requirements,
    ) -> Result<Layer, Error> {
        let about = Execution {
            command: Command::Python(INTERPRETER.into()),
            ..Execution::default()
        };
        let about = self.exec(OWNER, id, about).await?;
        let layer = Layer {
            key: requirements.key(&about.stdout.text, &index.url),
        };
        let place = self.inner.state.join(layer.folder());
        if place.is_dir() {
            return Ok(layer);
        }
        let text = requirements.text().as_bytes().to_vec();
        self.put(OWNER, id, "requirements.txt", text).await?;
        let install = Execution {
            command: Command::Argv(packages::command(index)),
            ..Execution::default()
        };
        let proxy = Proxy::trusting(index.hosts.clone(), Arc::clone(&self.inner.dial));
        let report = self.exec_by(OWNER, id, install, Some(proxy)).await?;
        if report.outcome != Outcome::Exit(0) {
            let why = format!(
                "{:?}: {}{}",
                report.outcome, report.stdout.text, report.stderr.text
            );
            return Err(Error::Layer { why });
        }
        // A file that cannot be compiled is none that can be imported.
        let compile = Execution {
            command: Command::Argv(packages::compile()),
            ..Execution::default()
        };
        self.exec(OWNER, id, compile).await?;
        self.with(OWNER, id, move |held| {
            let built = held.data().join(packages::BUILT);
            fs::rename(&built, &place).during(place.display())
        })
        .await?;
        Ok(layer)
    }
}
