//! Whether a runtime works: its commands run, and its modules are loaded, in the sandbox.

use std::path::Path;
use std::time::Duration;

use super::definition::RuntimeDefinition;
use super::name::RuntimeSource;
use super::report::RuntimeCheck;
use crate::container_spec::ContainerSpec;
use crate::error::{Error, ErrorContext};
use crate::execution::{Command, CommandOutcome, Execution};
use crate::policy::{Policy, SandboxLimits};
use crate::probe::Grade;
use crate::sandbox::Sandbox;
use crate::settings::{BackendKind, SandboxSettings};

/// The owner of the container in which a runtime is checked. No tenant has this name.
const OWNER: &str = "\0runtimes";

/// How long one check may take: the first start of an office suite is slow.
const TIMEOUT: Duration = Duration::from_secs(300);
const MEMORY_BYTES: u64 = 2 << 30;
/// Characters of a failed command's output.
const MAX_DETAIL_CHARS: usize = 400;

/// Imports each module, and prints the name and the cause of each that fails.
const PYTHON_PROGRAM: &str = "import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(name, type(error).__name__ + ': ' + ' '.join(str(error).split()), sep='\\t')";

/// The same for packages of Node, of either kind of module.
const NODE_PROGRAM: &str = "(async () => {
  for (const name of process.argv.slice(1)) {
    try { require(name); } catch (first) {
      try { await import(name); } catch (error) {
        console.log(name + '\\t' + String(first).split('\\n')[0]);
      }
    }
  }
})()";

/// Checks the runtime in a folder. Must not be called within a Tokio runtime.
///
/// # Errors
/// When the sandbox itself cannot run on this host.
pub fn check(
    settings: &SandboxSettings,
    root: &Path,
    definition: &RuntimeDefinition,
) -> Result<Vec<RuntimeCheck>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start the checks")?;
    runtime.block_on(check_all(settings, root, definition))
}

/// Whether the sandbox runs on this host at all, with the host's own runtime. Must not be
/// called within a Tokio runtime.
pub(super) fn host_runs_sandbox(settings: &SandboxSettings) -> bool {
    let settings = SandboxSettings {
        backend: BackendKind::Native,
        runtime: RuntimeSource::Folder("/".into()),
        ..settings.clone()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let probe = runtime.map(|runtime| runtime.block_on(Sandbox::probe(&settings)));
    matches!(probe, Ok(Ok(probe)) if !matches!(probe.grade, Grade::Refused { .. }))
}

async fn check_all(
    settings: &SandboxSettings,
    root: &Path,
    definition: &RuntimeDefinition,
) -> Result<Vec<RuntimeCheck>, Error> {
    let sandbox = Sandbox::open(SandboxSettings {
        backend: BackendKind::Native,
        runtime: RuntimeSource::Folder(root.to_owned()),
        warm: 0,
        // Only programs that the operator has chosen run here.
        allow_reduced: true,
        ..settings.clone()
    })
    .await?;
    let container = ContainerSpec::from(Policy {
        limits: SandboxLimits {
            timeout: TIMEOUT,
            memory: MEMORY_BYTES,
            ..SandboxLimits::default()
        },
        ..Policy::default()
    });
    let container = sandbox.create(OWNER, container).await?;
    let inside = CheckContainer {
        sandbox: &sandbox,
        container: &container,
    };
    let checks = inside.run_all(definition).await;
    sandbox.destroy(OWNER, &container).await?;
    checks
}

struct CheckContainer<'a> {
    sandbox: &'a Sandbox,
    container: &'a str,
}

impl CheckContainer<'_> {
    async fn run_all(&self, definition: &RuntimeDefinition) -> Result<Vec<RuntimeCheck>, Error> {
        let asserted = &definition.check;
        let mut checks = Vec::new();
        for line in &asserted.commands {
            let argv = ["sh", "-c", line].map(String::from).to_vec();
            let failure = self.run(argv).await?.err();
            checks.push(RuntimeCheck {
                name: line.clone(),
                ok: failure.is_none(),
                detail: failure.unwrap_or_default(),
            });
        }
        let languages = [
            (
                "python",
                ["python3", "-c", PYTHON_PROGRAM],
                &asserted.python,
            ),
            ("node", ["node", "-e", NODE_PROGRAM], &asserted.node),
        ];
        for (language, program, modules) in languages {
            checks.extend(self.load(language, &program, modules).await?);
        }
        Ok(checks)
    }

    /// Loads modules by a program that prints those that fail.
    async fn load(
        &self,
        language: &str,
        program: &[&str],
        modules: &[String],
    ) -> Result<Vec<RuntimeCheck>, Error> {
        if modules.is_empty() {
            return Ok(Vec::new());
        }
        let argv = program.iter().map(|word| (*word).to_owned());
        let printed = self
            .run(argv.chain(modules.iter().cloned()).collect())
            .await?;
        let failure = |module: &String| match &printed {
            Ok(printed) => printed.lines().find_map(|line| {
                let (name, why) = line.split_once('\t')?;
                (name == module).then(|| why.to_owned())
            }),
            // The program itself failed: nothing can be said of single modules.
            Err(why) => Some(why.clone()),
        };
        let check = |module: &String| {
            let failure = failure(module);
            RuntimeCheck {
                name: format!("{language}: {module}"),
                ok: failure.is_none(),
                detail: failure.unwrap_or_default(),
            }
        };
        Ok(modules.iter().map(check).collect())
    }

    /// What a command prints; if it fails, why.
    async fn run(&self, argv: Vec<String>) -> Result<Result<String, String>, Error> {
        let execution = Execution {
            command: Command::Argv(argv),
            ..Execution::default()
        };
        let report = self.sandbox.exec(OWNER, self.container, execution).await?;
        if report.outcome == CommandOutcome::Exit(0) {
            return Ok(Ok(report.stdout.text));
        }
        let output = format!("{}{}", report.stdout.text, report.stderr.text);
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        let skipped = output.chars().count().saturating_sub(MAX_DETAIL_CHARS);
        let tail: String = output.chars().skip(skipped).collect();
        Ok(Err(format!("{}: {tail}", report.outcome)))
    }
}
