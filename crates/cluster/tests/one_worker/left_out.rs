//! Tests that are not run over a cluster, each with its reason. Every other test of the files that
//! are run a second time is.

use std::io::Write as _;

/// Tests by name.
const TESTS: &[(&str, &str)] = &[
    (
        "damaged_content_is_an_error_of_the_store",
        "a gateway restores no files, as the store has them; a worker checks what it is given by \
         digest when it needs it (worker::suite commands)",
    ),
    (
        "a_session_whose_packages_were_removed_is_replaced_and_keeps_its_files",
        "it changes files in the folder of the host's sandbox; a worker installs packages again",
    ),
    (
        "a_full_disk_is_reported_as_such_and_is_full_for_one_tenant_only",
        "it limits the disk of one host; files of a cluster count to the tenant's quota of the \
         store (store::suite quotas)",
    ),
    (
        "a_key_in_the_url_is_in_no_log_and_names_of_models_are_in_no_route",
        "it reads the log that only the real binary writes, and runs no command",
    ),
    (
        "a_server_does_without_huge_pages_and_what_it_runs_does_not",
        "it is about the process of the real binary",
    ),
    (
        "litellms_clients_work_inside_a_running_loop",
        "LiteLLM's clients; their runs are those of `chat_runs_the_loop_to_its_end`",
    ),
    (
        "files_of_any_kind_and_folder_come_back_but_not_of_any_size",
        "it makes a file of 400 MB, which a worker only gives to an object storage (cluster::suite \
         large)",
    ),
];

/// Whether a test is left out, which it then says.
pub(crate) fn is_left_out(test: &str) -> bool {
    let Some((_, reason)) = TESTS.iter().find(|(name, _)| *name == test) else {
        return false;
    };
    let _ = writeln!(std::io::stderr(), "NOT_RUN {test} over a cluster: {reason}");
    true
}
