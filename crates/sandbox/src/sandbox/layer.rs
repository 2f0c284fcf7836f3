//! Package layers: each is built once, in a container of its own, and then stored.

use super::Sandbox;
use crate::backend::run_blocking;
use crate::egress::DomainRule;
use crate::error::Error;
use crate::execution::{Command, CommandOutcome, Execution, ExecutionReport, LimitHit};
use crate::packages::builds::BuildPermit;
use crate::packages::npm::NpmProject;
use crate::packages::{self, Layer, NpmRegistry, NpmRequirements, PackageIndex, Requirements};
use crate::policy::Policy;
use crate::queue::RunPermit;
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// Prefix of the owner of containers in which layers are built; the requesting tenant
/// follows. No tenant can have such a name.
const BUILD_OWNER_PREFIX: &str = "\0layers ";

/// Maximum characters of an installer's output in an error.
const MAX_INSTALLER_OUTPUT_CHARS: usize = 4000;

/// Maximum characters of the path of a file of a build that cannot be stored.
const MAX_LOST_PATH_CHARS: usize = 200;

impl Sandbox {
    /// The layer of these requirements, built now if it does not exist yet. Builds of one
    /// owner wait for each other and for the owner's commands, not for those of others: they
    /// wait only for builds that run.
    ///
    /// # Errors
    /// [`Error::NoIndex`] when there is no index; [`Error::Layer`] when it cannot satisfy the
    /// requirements, or the result cannot be stored; [`Error::Unsupported`] when the backend cannot reach an
    /// index; [`Error::Busy`] when too many builds of the owner wait.
    pub async fn layer(&self, owner: &str, requirements: &Requirements) -> Result<Layer, Error> {
        let (requirements, remark) = self.installable(requirements)?;
        let (index, registry) = (&self.inner.packages, &self.inner.npm_registry);
        if index.is_none() && requirements.has_python() {
            return Err(Error::NoIndex {
                what: "package index",
                setting: "package_index",
            });
        }
        if !self.inner.has_proxy {
            let what = "package layers";
            return Err(Error::Unsupported { what });
        }
        let builds = &self.inner.builds;
        let interpreter = match builds.interpreter.get() {
            Some(known) => known.clone(),
            None => self.interpreter(owner).await?,
        };
        let key = requirements.key(
            &interpreter,
            index.as_ref().map_or("", |index| &index.url),
            registry.as_ref().map_or("", |registry| &registry.url),
        );
        let layer = Layer::local(key, remark);
        if self.has_layer(&layer).await? {
            return Ok(layer);
        }
        let _owners_turn = builds.lock_owner(owner).await?;
        let Some(turn) = self.wait_for_build(owner, &layer).await? else {
            return Ok(layer);
        };
        let container = BuildContainer::start(self, owner, turn.run).await?;
        let built = container.build(&requirements, &layer).await;
        container.end().await?;
        built.map(|()| layer)
    }

    /// Waits until a layer can be built at once; none when it is there by then. What a build
    /// holds that others may need is not held while the build waits in the queue of its tenant's
    /// commands, which has no limit of time, and a place to run a command not while it waits for
    /// other builds.
    async fn wait_for_build(&self, owner: &str, layer: &Layer) -> Result<Option<BuildTurn>, Error> {
        let builds = &self.inner.builds;
        loop {
            let layer_lock = builds.lock_layer(&layer.key).await;
            if self.has_layer(layer).await? {
                return Ok(None);
            }
            let permit = builds.acquire_permit().await?;
            if let Some(run) = self.inner.queue.try_acquire(owner) {
                return Ok(Some(BuildTurn::new(run, layer_lock, permit)));
            }
            drop((layer_lock, permit));
            let run = self.acquire_run(owner).await?;
            let free = builds.try_lock_layer(&layer.key);
            let free = free.and_then(|lock| Some((lock, builds.try_acquire_permit()?)));
            let Some((layer_lock, permit)) = free else {
                continue;
            };
            if self.has_layer(layer).await? {
                return Ok(None);
            }
            return Ok(Some(BuildTurn::new(run, layer_lock, permit)));
        }
    }

    /// What of the requirements can be installed, and why something cannot.
    fn installable(
        &self,
        requirements: &Requirements,
    ) -> Result<(Requirements, Option<String>), Error> {
        let error = match (requirements.npm(), &self.inner.npm_registry) {
            (NpmRequirements::None, _) | (NpmRequirements::Project(_), Some(_)) => {
                return Ok((requirements.clone(), None));
            }
            (_, None) => Error::NoIndex {
                what: "npm registry",
                setting: "npm_registry",
            },
            (NpmRequirements::Refused(why), Some(_)) => Error::Layer { why: why.clone() },
        };
        if !requirements.has_python() {
            return Err(error);
        }
        let remark = format!("npm packages are not installed: {error}");
        Ok((requirements.without_npm(), Some(remark)))
    }

    async fn has_layer(&self, layer: &Layer) -> Result<bool, Error> {
        let (inner, layer) = (Arc::clone(&self.inner), layer.clone());
        run_blocking(move || Ok(inner.layers.has(&layer))).await
    }

    /// Queries once which Python interpreter layers depend on. Concurrent queries of
    /// different owners do not wait for each other.
    async fn interpreter(&self, owner: &str) -> Result<String, Error> {
        let run = self.acquire_run(owner).await?;
        let container = BuildContainer::start(self, owner, run).await?;
        let about = container
            .run(packages::about_interpreter_command(), None)
            .await;
        container.end().await?;
        let about = about?.stdout.text;
        Ok(self.inner.builds.interpreter.get_or_init(|| about).clone())
    }
}

/// The right to build a layer now.
struct BuildTurn {
    run: RunPermit,
    _layer: OwnedMutexGuard<()>,
    _permit: BuildPermit,
}

impl BuildTurn {
    fn new(run: RunPermit, layer: OwnedMutexGuard<()>, permit: BuildPermit) -> Self {
        Self {
            run,
            _layer: layer,
            _permit: permit,
        }
    }
}

/// A container in which a layer is built. If dropped before `end`, it is removed in the
/// background.
struct BuildContainer {
    sandbox: Sandbox,
    /// The permit of all of its commands, which run one after the other.
    run: RunPermit,
    /// The requesting tenant.
    tenant: String,
    owner: String,
    id: String,
    ended: bool,
}

impl BuildContainer {
    async fn start(sandbox: &Sandbox, tenant: &str, run: RunPermit) -> Result<Self, Error> {
        let owner = format!("{BUILD_OWNER_PREFIX}{tenant}");
        let policy = Policy {
            limits: packages::build_limits(),
            ..Policy::default()
        };
        let id = sandbox.create(&owner, policy.into()).await?;
        Ok(Self {
            sandbox: sandbox.clone(),
            run,
            tenant: tenant.to_owned(),
            owner,
            id,
            ended: false,
        })
    }

    async fn build(&self, requirements: &Requirements, layer: &Layer) -> Result<(), Error> {
        let (sandbox, owner, id) = (&self.sandbox, &self.owner, &self.id);
        // npm comes first: nothing of another step can be in its project.
        if let (NpmRequirements::Project(project), Some(registry)) =
            (requirements.npm(), &sandbox.inner.npm_registry)
        {
            self.install_npm(registry, project).await?;
        }
        if let (true, Some(index)) = (requirements.has_python(), &sandbox.inner.packages) {
            self.install_python(index, requirements).await?;
        }
        let (inner, layer) = (Arc::clone(&sandbox.inner), layer.clone());
        let tenant = self.tenant.clone();
        let built = format!("sessions/{id}/data/{}", packages::BUILT_FOLDER);
        // The container is locked, so that nothing can run in it.
        let add_built = move |_: &_| {
            let mounted = || inner.containers.mounted();
            inner.layers.add(&layer, &built, &tenant, &mounted)
        };
        sandbox.with_container(owner, id, add_built).await
    }

    async fn install_npm(&self, registry: &NpmRegistry, project: &NpmProject) -> Result<(), Error> {
        let manifest = (packages::NPM_MANIFEST_FILE, Some(&project.manifest));
        let lock = (packages::NPM_LOCK_FILE, project.lock.as_ref());
        for (path, text) in [manifest, lock] {
            if let Some(text) = text {
                self.put(path, text).await?;
            }
        }
        let command = packages::npm_command(registry, project.lock.is_some());
        self.run(command, Some(&registry.hosts)).await.map(drop)
    }

    async fn install_python(
        &self,
        index: &PackageIndex,
        requirements: &Requirements,
    ) -> Result<(), Error> {
        self.put(packages::REQUIREMENTS_FILE, requirements.text())
            .await?;
        self.run(packages::install_command(index), Some(&index.hosts))
            .await?;
        self.run(packages::compile_command(), None).await.map(drop)
    }

    async fn put(&self, path: &str, text: &str) -> Result<(), Error> {
        let bytes = text.as_bytes().to_vec();
        self.sandbox.put(&self.owner, &self.id, path, bytes).await
    }

    /// Runs one step. An incomplete result is an error.
    async fn run(
        &self,
        argv: Vec<String>,
        hosts: Option<&[DomainRule]>,
    ) -> Result<ExecutionReport, Error> {
        let step = Execution {
            command: Command::Argv(argv),
            env: packages::build_environment(),
            ..Execution::default()
        };
        let egress = &self.sandbox.inner.egress;
        let proxy = hosts.map(|hosts| egress.operator_proxy(&self.owner, hosts.to_vec()));
        let report = self
            .sandbox
            .exec_permitted(&self.run, &self.owner, &self.id, step, proxy)
            .await?;
        if report.outcome != CommandOutcome::Exit(0) || report.hits.contains(&LimitHit::Data) {
            return Err(build_failure(&report));
        }
        // A layer with missing files would fail when it is used.
        if let Some(lost) = report.skipped.iter().find(|one| one.reason.is_loss()) {
            let path: String = lost.path.chars().take(MAX_LOST_PATH_CHARS).collect();
            let why = format!("{path:?} cannot be stored: {}", lost.reason);
            return Err(Error::Layer { why });
        }
        Ok(report)
    }

    async fn end(mut self) -> Result<(), Error> {
        self.ended = true;
        self.sandbox.destroy(&self.owner, &self.id).await
    }
}

impl Drop for BuildContainer {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if !self.ended {
            let (sandbox, owner, id) = (self.sandbox.clone(), self.owner.clone(), self.id.clone());
            // What cannot be removed now expires.
            runtime.spawn(async move { sandbox.destroy(&owner, &id).await });
        }
    }
}

/// The end of the installer's output, which has the cause of the failure.
fn build_failure(report: &ExecutionReport) -> Error {
    let output = format!("{}{}", report.stdout.text, report.stderr.text);
    let skipped = output
        .chars()
        .count()
        .saturating_sub(MAX_INSTALLER_OUTPUT_CHARS);
    let tail: String = output.chars().skip(skipped).collect();
    let full = if report.hits.contains(&LimitHit::Data) {
        "the packages are too large; "
    } else {
        ""
    };
    let why = format!("{full}{}: {tail}", report.outcome);
    Error::Layer { why }
}
