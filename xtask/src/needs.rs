//! Which setup steps the tests that match a filter need.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::run::command;
use crate::setup::Step::{
    self, Aider, Artefacts, BareRoot, Browser, Cluster, Collector, Docker, Image, Nats, NodeAgents,
    NodeClients, NodeMcp, Prometheus, PythonClient, Reference, Wheels,
};
use crate::test_build;

/// The steps of each test binary, by its crate's folder and its name. Others need none.
const NEEDS: &[(&str, &str, &[Step])] = &[
    ("bus", "suite", &[Nats]),
    (
        "cli",
        "batches",
        &[PythonClient("anthropic-2.8"), PythonClient("openai-3.49")],
    ),
    ("cli", "background_sdk", &[PythonClient("openai-3.49")]),
    ("cli", "webhooks", &[PythonClient("openai-3.49")]),
    ("cli", "clients_agents", &[NodeClients, NodeAgents]),
    (
        "cli",
        "clients_failing",
        &[
            PythonClient("anthropic-2.8"),
            PythonClient("openai-3.49"),
            NodeClients,
        ],
    ),
    (
        "cli",
        "clients_sdk",
        &[
            PythonClient("anthropic-0.100"),
            PythonClient("anthropic-1.17"),
            PythonClient("anthropic-2.8"),
            PythonClient("openai-2.54"),
            PythonClient("openai-3.49"),
            PythonClient("google-genai"),
            PythonClient("litellm"),
            PythonClient("llm"),
            NodeClients,
        ],
    ),
    ("cli", "cluster", &[Cluster]),
    ("cli", "console", &[Browser]),
    (
        "cli",
        "contract",
        &[
            PythonClient("schemathesis"),
            PythonClient("litellm"),
            NodeClients,
        ],
    ),
    (
        "cli",
        "docs",
        &[
            PythonClient("anthropic-2.8"),
            PythonClient("openai-3.49"),
            PythonClient("google-genai"),
            PythonClient("mcp"),
            PythonClient("llm"),
            Aider,
            Cluster,
            Wheels,
            NodeClients,
            NodeAgents,
        ],
    ),
    (
        "cli",
        "embeddings_sdk",
        &[
            PythonClient("openai-2.54"),
            PythonClient("openai-3.49"),
            NodeClients,
        ],
    ),
    ("cli", "litellm_defects", &[PythonClient("litellm")]),
    ("cli", "readme", &[PythonClient("anthropic-2.8")]),
    (
        "cli",
        "mcp_clients",
        &[
            PythonClient("mcp"),
            PythonClient("agent-framework"),
            NodeClients,
            NodeAgents,
            NodeMcp,
        ],
    ),
    (
        "cli",
        "programs",
        &[
            PythonClient("frameworks"),
            PythonClient("google-genai"),
            PythonClient("litellm"),
            PythonClient("llm"),
            Aider,
            NodeClients,
            NodeAgents,
        ],
    ),
    (
        "cli",
        "provider_files",
        &[PythonClient("anthropic-2.8"), PythonClient("openai-3.49")],
    ),
    ("cli", "python", &[Wheels]),
    ("cli", "reference", &[Reference]),
    (
        "cli",
        "sdk",
        &[
            PythonClient("anthropic-0.100"),
            PythonClient("anthropic-1.17"),
            PythonClient("anthropic-2.8"),
            PythonClient("openai-2.54"),
            PythonClient("openai-3.49"),
            NodeClients,
        ],
    ),
    (
        "cli",
        "skills_sdk",
        &[
            PythonClient("anthropic-2.8"),
            PythonClient("openai-3.49"),
            PythonClient("google-genai"),
        ],
    ),
    ("cli", "runs", &[Collector, Prometheus]),
    ("cluster", "suite", &[Reference]),
    ("engine", "prowess_engine", &[Reference]),
    ("sandbox", "suite", &[Docker]),
    ("store", "suite", &[Reference]),
    (
        "xtask",
        "dist",
        &[Artefacts, BareRoot, Docker, Image, Wheels],
    ),
];

/// Builds the tests, and collects the steps of every binary that has a matching test.
pub(crate) fn steps(filter: &str) -> anyhow::Result<BTreeSet<Step>> {
    let messages = test_build::messages()?;
    let mut steps = BTreeSet::new();
    for message in messages {
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let (Some(manifest), Some(name), Some(program)) = (
            text("/manifest_path"),
            text("/target/name"),
            text("/executable"),
        ) else {
            continue;
        };
        let needs = NEEDS.iter().find(|(folder, binary, _)| {
            *binary == name && Path::new(manifest).ends_with(format!("{folder}/Cargo.toml"))
        });
        if let Some((_, _, needed)) = needs
            && has_matching_test(program, filter)?
        {
            steps.extend(needed.iter().copied());
        }
    }
    Ok(steps)
}

fn has_matching_test(program: &str, filter: &str) -> anyhow::Result<bool> {
    let listed = command(program, &["--list", "--format", "terse", filter]).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    Ok(listed.lines().any(|line| line.ends_with(": test")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::root;
    use crate::setup::PYTHON_CLIENTS;

    #[test]
    fn every_entry_names_a_test_binary_and_known_clients() {
        for (folder, name, steps) in NEEDS {
            let tests = match *folder {
                "xtask" => root().join("xtask/tests"),
                folder => root().join("crates").join(folder).join("tests"),
            };
            let file = tests.join(format!("{name}.rs")).exists();
            // The tests within a crate are in a binary of its own name.
            let is_library = *name == format!("prowess_{folder}");
            assert!(
                is_library || file || tests.join(name).join("main.rs").exists(),
                "{folder}: {name}"
            );
            for step in *steps {
                let PythonClient(client) = step else { continue };
                assert!(PYTHON_CLIENTS.contains(client), "{folder}: {client}");
            }
        }
    }

    #[test]
    fn every_binary_that_uses_installed_programs_has_an_entry() {
        for entry in fs::read_dir(root().join("crates/cli/tests")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let uses = text.lines().any(|line| line == "mod installed;");
            let has_entry = NEEDS.iter().any(|(_, binary, _)| *binary == name);
            assert!(!uses || has_entry, "{name}");
        }
    }
}
