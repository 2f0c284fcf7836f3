//! What goes wrong with skills elsewhere, and must not here: 24 defects of LiteLLM
//! 1.108.4, each a test by which the same case works.
//!
//! | | there | the test here |
//! |---|---|---|
//! | 1 | the loop never runs on chat | `chat_runs_the_loop_to_its_end` |
//! | 2 | chat gets tools of Anthropic's shape | `chat_tools_are_openai_shaped` |
//! | 3 | later turns lose the system prompt and settings | `every_turn_keeps_system_temperature_choice_and_thinking` |
//! | 4 | native skills are dropped beside stored ones | `native_and_stored_skills_travel_together` |
//! | 5 | an unknown skill is a warning in a log | `an_unknown_skill_is_a_404_that_names_it` |
//! | 6 | a system prompt of blocks is a crash | `system_as_blocks_keeps_cache_control` |
//! | 7 | a client's tool is answered by the server | `a_client_tool_in_the_same_turn_goes_back` |
//! | 8 | a sandbox blocks all requests | `a_busy_sandbox_holds_up_nobody` |
//! | 9 | the time limit of code does nothing | `code_that_takes_too_long_is_ended` |
//! | 10 | no state between calls | `a_call_finds_what_an_earlier_one_left` |
//! | 11 | few file types, edits and equal names lost, no cap | `files_of_any_kind_and_folder_come_back_but_not_of_any_size` |
//! | 12 | files of skills overwrite each other | `files_of_skills_do_not_collide` |
//! | 13 | a flat zip loses its folders | `a_flat_zip_keeps_its_folders` |
//! | 14 | any file that ends in SKILL.md is taken | `the_skill_file_is_the_one_at_the_root` |
//! | 15 | nothing is checked on upload | `an_upload_is_checked_and_kept_whole` |
//! | 16 | every SKILL.md whole in every request | `a_skill_is_disclosed_step_by_step` |
//! | 17 | versions are ignored | `a_version_is_honoured_and_echoed` |
//! | 18 | listing reads every zip; pages are wrong | `listing_reads_no_files_and_pages_are_right` |
//! | 19 | limits and failures look like answers | `a_limit_is_marked_and_a_failed_turn_is_the_error` |
//! | 20 | only the last turn is accounted for | `usage_is_summed_and_recorded_under_the_tenant` |
//! | 21 | a request may enable code by itself | `smuggled_flags_do_nothing` |
//! | 22 | a deleted skill lives on for a minute | `a_deletion_is_seen_by_other_processes` |
//! | 23 | the sync client fails in a running loop | `litellms_clients_work_inside_a_running_loop` |
//! | 24 | an absent part is looked for on every request | `absent_parts_cost_nothing_and_log_nothing` |
//!
//! | module | owns |
//! |---|---|
//! | [`stage`] | a server with a stored skill, and a model that runs commands |
//! | [`turns`] | what models are sent in each turn, and what of it goes back |
//! | [`code`] | time, state and files of commands |
//! | [`stored`] | uploads, versions, lists and deletions |
//! | [`outcomes`] | limits, failures and usage; clients; parts that are absent |

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

#[path = "../installed/mod.rs"]
mod installed;
#[path = "../server/mod.rs"]
mod server;
#[path = "../vendors/mod.rs"]
mod vendors;

mod code;
mod outcomes;
mod stage;
mod stored;
mod turns;
