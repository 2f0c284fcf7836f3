//! aider, which has no tools: the model gives a file anew, and aider writes it.

use crate::environment::python_program;
use crate::gateway::{ProgramGateway, model_of};
use crate::installed::succeeded;
use crate::matrix::{AIDER, Wire, rows, works};
use crate::model::ModelPlan;
use crate::server::MASTER;

#[test]
fn aider_edits_a_file_on_models_of_others() {
    let edit = "I write it.\n\nnumber.txt\n```\nforty-two\n```\n";
    let gateway = ProgramGateway::start(ModelPlan::answer_only(edit));
    for row in &rows(AIDER) {
        for vendor in &row.vendors {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join("number.txt");
            std::fs::write(&file, "forty-one\n").unwrap();
            let (prefix, base) = match row.wire {
                Wire::Messages => ("anthropic", gateway.url().to_owned()),
                _ => ("openai", format!("{}/v1", gateway.url())),
            };
            let mut aider = python_program("aider", "aider", home.path());
            aider
                .env("OPENAI_API_BASE", &base)
                .env("OPENAI_API_KEY", MASTER)
                .env("ANTHROPIC_API_BASE", &base)
                .env("ANTHROPIC_API_KEY", MASTER)
                .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
                .args(["--model", &format!("{prefix}/{}", model_of(*vendor))])
                .args([
                    "--edit-format",
                    "whole",
                    "--no-git",
                    "--yes-always",
                    "--no-pretty",
                ])
                .args([
                    "--no-check-update",
                    "--analytics-disable",
                    "--no-show-model-warnings",
                ])
                .args(["--no-show-release-notes", "--no-detect-urls"])
                .args(["--message", "Write the next number", "number.txt"]);
            let printed = succeeded(&mut aider);
            let turns = gateway.model.all_turns();
            assert_eq!(
                std::fs::read_to_string(file).unwrap(),
                "forty-two\n",
                "{printed}"
            );
            assert!(printed.contains("Applied edit to number.txt"), "{printed}");
            assert_eq!(turns.len(), 1, "{printed}");
            assert_eq!((turns[0].vendor, turns[0].streamed), (*vendor, true));
            assert!(
                turns[0].sent.body.to_string().contains("forty-one"),
                "{printed}"
            );
            works(row, *vendor);
        }
    }
}
