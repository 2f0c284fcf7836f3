//! Skills on every model, in every dialect: each cell of the matrix is an exchange with
//! the real server and its real sandbox, over a model that records its requests.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess_testkit::SkillFixture;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Response, StopReason};
use serde_json::{Value, json};
use vendors::client::{
    append_paused_answer, append_tool_result, calls_of, in_container, limit_stop_reason,
    new_request, parse_answer, path, text_of,
};
use vendors::upstream_request::UpstreamRequest;
use vendors::vendor::Vendor;
use vendors::{GatewayResponse, TestGateway, run};

const CLIENTS: [ClientDialect; 3] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
];
const CASES: [&str; 9] = [
    "one skill",
    "several",
    "mixed with native",
    "client tool in the same turn",
    "two parallel calls",
    "failing script",
    "limit hit",
    "session reused",
    "generated file fetched",
];
/// Conversations at once.
const WORKERS: usize = 4;

/// What happens in a cell, or what went wrong.
type Verdict = Result<&'static str, String>;

macro_rules! check {
    ($holds:expr, $($about:tt)+) => {
        if !$holds {
            return Err(format!("{}: {}", stringify!($holds), format!($($about)+)));
        }
    };
}

/// One exchange: client, mode and vendor.
struct Cell<'a> {
    place: &'a TestGateway,
    skills: &'a [String],
    worker: usize,
    client: ClientDialect,
    stream: bool,
    vendor: Vendor,
}

impl Cell<'_> {
    fn skill_request(&self, skills: &[&str]) -> Value {
        new_request(
            self.client,
            &self.vendor.model(self.worker),
            self.stream,
            skills,
        )
    }

    fn next_turn(&self, text: &str, calls: &[(&str, Value)]) {
        let vendor = self.vendor.before(self.client);
        let answer = vendor.calls(self.stream, text, calls);
        self.place.upstreams[self.worker].respond(answer);
    }

    async fn exchange(&self, request: &Value) -> Result<(GatewayResponse, Response), String> {
        let response = self.place.post(path(self.client), request).await;
        check!(
            response.status == 200,
            "{} {}",
            response.status,
            response.text
        );
        let answer = parse_answer(self.client, self.stream, &response)?;
        Ok((response, answer))
    }

    /// What the model was sent, one for each turn.
    async fn sent(&self) -> Vec<UpstreamRequest> {
        let requests = self.place.upstreams[self.worker].requests().await;
        let vendor = self.vendor.before(self.client);
        let read = requests
            .iter()
            .map(|request| UpstreamRequest::read(vendor, request));
        read.collect()
    }

    /// A run of one call of bash and an end; gives the answer and the second turn.
    async fn runs(
        &self,
        command: &str,
    ) -> Result<(GatewayResponse, Response, UpstreamRequest), String> {
        self.next_turn("I run it.", &[bash(command)]);
        self.next_turn("Done.", &[]);
        let (response, answer) = self
            .exchange(&self.skill_request(&[&self.skills[0]]))
            .await?;
        let sent = self.sent().await;
        Ok((response, answer, self.ends_well(sent)?))
    }

    /// Every turn keeps what the first said, and every call was answered; gives the last.
    fn ends_well(&self, sent: Vec<UpstreamRequest>) -> Result<UpstreamRequest, String> {
        let first = sent.first().ok_or("no turn")?;
        check!(first.system.starts_with("Be kind."), "{}", first.system);
        for turn in &sent {
            check!(turn.system == first.system, "{}", turn.body);
            check!(turn.tools == first.tools, "{}", turn.body);
            check!(turn.is_answered(), "{}", turn.body);
        }
        sent.into_iter().next_back().ok_or_else(String::new)
    }
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

fn load(name: &str) -> (&'static str, Value) {
    ("load_skill", json!({"name": name}))
}

async fn run_case(cell: &Cell<'_>, case: &str) -> Verdict {
    match case {
        "one skill" => one_skill(cell).await,
        "several" => several(cell).await,
        "mixed with native" => mixed(cell).await,
        "client tool in the same turn" => client_tool(cell).await,
        "two parallel calls" => parallel(cell).await,
        "failing script" => failing(cell).await,
        "limit hit" => limit(cell).await,
        "session reused" => container_reused(cell).await,
        "generated file fetched" => file(cell).await,
        other => Err(format!("{other} is no case")),
    }
}

async fn one_skill(cell: &Cell<'_>) -> Verdict {
    cell.next_turn("Let me see.", &[load("report")]);
    cell.next_turn(
        "I run it.",
        &[bash("python3 /skills/report/scripts/make.py")],
    );
    cell.next_turn("Done.", &[]);
    let (_, answer) = cell
        .exchange(&cell.skill_request(&[&cell.skills[0]]))
        .await?;
    let sent = cell.sent().await;
    check!(sent.len() == 3, "{} turns", sent.len());
    let first = &sent[0];
    check!(
        first.system.contains("- report: Does one thing well."),
        "{}",
        first.system
    );
    check!(
        !first.body.to_string().contains("Run `python3"),
        "{}",
        first.body
    );
    let tools = [
        "weather",
        "load_skill",
        "bash_code_execution",
        "text_editor_code_execution",
    ];
    check!(first.tools == tools, "{:?}: {}", first.tools, first.body);
    check!(
        !first.body.to_string().contains("\"container\""),
        "{}",
        first.body
    );
    check!(
        sent[1].result(0).contains("Run `python3"),
        "{}",
        sent[1].body
    );
    let last = cell.ends_well(sent)?;
    check!(last.result(1).contains("made it"), "{}", last.body);
    check!(
        answer.stop_reason == Some(StopReason::EndTurn),
        "{answer:?}"
    );
    let text = text_of(&answer);
    check!(
        text.starts_with("Let me see.") && text.ends_with("Done."),
        "{text}"
    );
    check!(
        answer.usage.input_tokens == 90 && answer.usage.output_tokens == 30,
        "{:?}",
        answer.usage
    );
    Ok("runs")
}

async fn several(cell: &Cell<'_>) -> Verdict {
    let [report, ant, zebra] = cell.skills else {
        return Err("three skills".to_owned());
    };
    cell.next_turn("Let me see.", &[load("ant")]);
    cell.next_turn(
        "I run it.",
        &[bash("cat /skills/zebra/SKILL.md /skills/ant/SKILL.md")],
    );
    cell.next_turn("Done.", &[]);
    cell.exchange(&cell.skill_request(&[zebra, ant, report]))
        .await?;
    let sent = cell.sent().await;
    let places = ["- zebra:", "- ant:", "- report:"].map(|name| sent[0].system.find(name));
    check!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{}",
        sent[0].system
    );
    let last = cell.ends_well(sent)?;
    check!(last.result(0).contains("Count the ants"), "{}", last.body);
    check!(last.result(1).contains("Draw stripes"), "{}", last.body);
    check!(last.result(1).contains("Count the ants"), "{}", last.body);
    Ok("runs")
}

/// A vendor's own skill stays with its vendor; anywhere else nobody knows it.
async fn mixed(cell: &Cell<'_>) -> Verdict {
    let request = cell.skill_request(&[&cell.skills[0], "xlsx"]);
    let own = matches!(
        (cell.client, cell.vendor),
        (_, Vendor::Anthropic) | (ClientDialect::Responses, Vendor::Responses)
    );
    if !own {
        let response = cell.place.post(path(cell.client), &request).await;
        check!(
            response.status == 404,
            "{} {}",
            response.status,
            response.text
        );
        check!(response.text.contains("xlsx"), "{}", response.text);
        check!(cell.sent().await.is_empty(), "a model was asked");
        return Ok("404");
    }
    let call = ("skill_bash", json!({"command": "echo ours"}));
    cell.next_turn("I run it.", &[call]);
    cell.next_turn("Done.", &[]);
    cell.exchange(&request).await?;
    let sent = cell.sent().await;
    for turn in &sent {
        let native = match cell.vendor {
            Vendor::Anthropic => &turn.body["container"]["skills"],
            _ => &turn.body["tools"][0]["environment"]["skills"],
        };
        check!(native.as_array().map(Vec::len) == Some(1), "{}", turn.body);
        check!(native[0]["skill_id"] == "xlsx", "{}", turn.body);
    }
    let last = cell.ends_well(sent)?;
    check!(last.result(0).contains("ours"), "{}", last.body);
    Ok("both")
}

async fn client_tool(cell: &Cell<'_>) -> Verdict {
    let weather = ("weather", json!({"city": "Bern"}));
    cell.next_turn("Let me see.", &[bash("echo o-u-r-s"), weather]);
    let mut request = cell.skill_request(&[&cell.skills[0]]);
    let (response, answer) = cell.exchange(&request).await?;
    check!(
        answer.stop_reason == Some(StopReason::ToolUse),
        "{}",
        response.text
    );
    let calls = calls_of(&answer);
    check!(
        calls.len() == 1 && calls[0].1 == "weather",
        "{}",
        response.text
    );
    append_tool_result(cell.client, &mut request, &response, &answer, "sunny");
    cell.next_turn("Done.", &[]);
    let (response, answer) = cell.exchange(&request).await?;
    check!(text_of(&answer).contains("Done."), "{}", response.text);
    let last = cell.ends_well(cell.sent().await)?;
    let names: Vec<_> = last.calls.iter().map(|(_, name)| name.as_str()).collect();
    check!(names == ["bash_code_execution", "weather"], "{}", last.body);
    check!(last.result(0).contains("o-u-r-s"), "{}", last.body);
    check!(last.result(1).contains("sunny"), "{}", last.body);
    Ok("goes back")
}

async fn parallel(cell: &Cell<'_>) -> Verdict {
    cell.next_turn("Both.", &[bash("echo o-n-e"), bash("echo t-w-o")]);
    cell.next_turn("Done.", &[]);
    let (_, answer) = cell
        .exchange(&cell.skill_request(&[&cell.skills[0]]))
        .await?;
    check!(text_of(&answer).ends_with("Done."), "{answer:?}");
    let last = cell.ends_well(cell.sent().await)?;
    check!(last.results.len() == 2, "{}", last.body);
    check!(last.result(0).contains("o-n-e"), "{}", last.body);
    check!(last.result(1).contains("t-w-o"), "{}", last.body);
    Ok("both run")
}

async fn failing(cell: &Cell<'_>) -> Verdict {
    let (_, answer, last) = cell.runs("echo o-o-p-s >&2; exit 3").await?;
    check!(last.result(0).contains("o-o-p-s"), "{}", last.body);
    check!(last.result(0).contains('3'), "{}", last.body);
    check!(
        answer.stop_reason == Some(StopReason::EndTurn),
        "{answer:?}"
    );
    Ok("model is told")
}

async fn limit(cell: &Cell<'_>) -> Verdict {
    for _ in 0..3 {
        cell.next_turn("Again.", &[bash("echo again")]);
    }
    let mut request = cell.skill_request(&[&cell.skills[0]]);
    let (response, answer) = cell.exchange(&request).await?;
    check!(cell.sent().await.len() == 3, "{}", response.text);
    check!(
        answer.stop_reason == Some(limit_stop_reason(cell.client)),
        "{}",
        response.text
    );
    check!(calls_of(&answer).is_empty(), "{}", response.text);
    if cell.client != ClientDialect::Messages {
        return Ok(match cell.client {
            ClientDialect::Chat => "length",
            _ => "incomplete",
        });
    }
    append_paused_answer(&mut request, &answer);
    cell.next_turn("Done.", &[]);
    let (response, answer) = cell.exchange(&request).await?;
    check!(text_of(&answer).ends_with("Done."), "{}", response.text);
    let last = cell.ends_well(cell.sent().await)?;
    check!(last.results.len() == 3, "{}", last.body);
    check!(last.result(2).contains("again"), "{}", last.body);
    Ok("pause_turn, goes on")
}

async fn container_reused(cell: &Cell<'_>) -> Verdict {
    let (response, ..) = cell.runs("echo kept > note.txt; echo noted").await?;
    let mut request = cell.skill_request(&[&cell.skills[0]]);
    in_container(cell.client, &mut request, &response);
    cell.next_turn("I look.", &[bash("cat note.txt")]);
    cell.next_turn("Done.", &[]);
    let (again, _) = cell.exchange(&request).await?;
    let last = cell.ends_well(cell.sent().await)?;
    check!(last.result(0).contains("kept"), "{}", last.body);
    check!(last.system.contains("- report:"), "{}", last.system);
    let prefix = match cell.client {
        ClientDialect::Responses => "cntr_",
        _ => "container_",
    };
    let length = prefix.len() + 24;
    check!(
        again.id(prefix, length) == response.id(prefix, length),
        "{}",
        again.text
    );
    Ok("goes on")
}

async fn file(cell: &Cell<'_>) -> Verdict {
    let (response, ..) = cell.runs("printf 'a,b' > made.csv").await?;
    let got = cell
        .place
        .get(&format!("/v1/files/{}/content", response.file()))
        .await;
    check!(
        got.status == 200 && got.text == "a,b",
        "{} {}: {}",
        got.status,
        got.text,
        response.text
    );
    Ok("fetched")
}

/// All cells, in the order of the table.
fn cells() -> Vec<(usize, ClientDialect, bool, Vendor)> {
    let mut all = Vec::new();
    for client in CLIENTS {
        for stream in [false, true] {
            for vendor in Vendor::ALL {
                for case in 0..CASES.len() {
                    all.push((case, client, stream, vendor));
                }
            }
        }
    }
    all
}

async fn run_cells(
    place: &TestGateway,
    skills: &[String],
    worker: usize,
    next: &AtomicUsize,
) -> Vec<(usize, Verdict)> {
    let cells = cells();
    let mut done = Vec::new();
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some((case, client, stream, vendor)) = cells.get(at).copied() else {
            return done;
        };
        let cell = Cell {
            place,
            skills,
            worker,
            client,
            stream,
            vendor,
        };
        let verdict = run_case(&cell, CASES[case]).await;
        place.upstreams[worker].requests().await;
        place.upstreams[worker].clear_responses();
        done.push((at, verdict));
    }
}

fn table(verdicts: &[Verdict]) -> String {
    let mut out = String::from("| client | model |");
    for name in CASES {
        write!(out, " {name} |").unwrap();
    }
    out.push_str("\n|---|---|");
    out.push_str(&"---|".repeat(CASES.len()));
    let rows = cells()
        .into_iter()
        .step_by(CASES.len())
        .zip(verdicts.chunks(CASES.len()));
    for ((_, client, stream, vendor), verdicts) in rows {
        let stream = if stream { ", streamed" } else { "" };
        write!(out, "\n| {client:?}{stream} | {} |", vendor.name()).unwrap();
        for verdict in verdicts {
            write!(out, " {} |", verdict.as_ref().copied().unwrap_or("FAILS")).unwrap();
        }
    }
    out.push('\n');
    out
}

#[test]
fn skills_work_the_same_for_every_client_on_every_model() {
    run(async {
        let place = TestGateway::open(WORKERS, "[skills]\nturns = 3\n").await;
        let make = "open('/mnt/data/report.txt', 'w').write('all is well')\nprint('made it')\n";
        let report = SkillFixture::new("report")
            .body("Run `python3 /skills/report/scripts/make.py`.\n")
            .script("scripts/make.py", make);
        let ant = SkillFixture::new("ant").body("Count the ants.\n");
        let zebra = SkillFixture::new("zebra").body("Draw stripes.\n");
        let mut skills = Vec::new();
        for skill in [report, ant, zebra] {
            skills.push(place.store(&skill).await);
        }
        let next = AtomicUsize::new(0);
        let workers = (0..WORKERS).map(|at| run_cells(&place, &skills, at, &next));
        let mut done: Vec<_> = futures_util::future::join_all(workers).await.concat();
        done.sort_by_key(|(at, _)| *at);
        let verdicts: Vec<Verdict> = done.into_iter().map(|(_, verdict)| verdict).collect();
        let table = table(&verdicts);
        println!("{table}");
        let named = cells().into_iter().zip(&verdicts);
        let broken: Vec<String> = named
            .filter_map(|((case, client, stream, vendor), verdict)| {
                let why = verdict.as_ref().err()?;
                Some(format!(
                    "{client:?} {stream} {vendor:?} {}: {why}",
                    CASES[case]
                ))
            })
            .collect();
        assert!(
            broken.is_empty(),
            "{} cells fail:\n{}",
            broken.len(),
            broken.join("\n\n")
        );
        insta::with_settings!({prepend_module_to_snapshot => false}, {
            let name = "conformance__skills_work_the_same_for_every_client_on_every_model";
            insta::assert_snapshot!(name, table);
        });
    });
}

/// How much of a catalogue fits is held by the engine's own tests, with 500 skills.
#[test]
fn the_same_request_gives_the_same_prompt_in_its_order() {
    run(async {
        let place = TestGateway::open(1, "").await;
        let mut skills = Vec::new();
        for name in ["zebra", "ant", "mole"] {
            skills.push(place.store(&SkillFixture::new(name)).await);
        }
        for vendor in Vendor::ALL {
            let client = ClientDialect::Messages;
            let before = vendor.before(client);
            let ask = async |skills: &[&str]| {
                let request = new_request(client, &vendor.model(0), false, skills);
                let end = [before.text_turn(false, "Done.")];
                let (response, mut sent) = place.talk(client, before, &request, end).await;
                assert_eq!((response.status, sent.len()), (200, 1), "{}", response.text);
                sent.remove(0)
            };
            let order: Vec<&str> = skills.iter().map(String::as_str).collect();
            let first = ask(&order).await;
            for _ in 0..3 {
                assert_eq!(ask(&order).await.bytes, first.bytes, "{vendor:?}");
            }
            let reversed: Vec<&str> = order.iter().rev().copied().collect();
            let places = ["- mole:", "- ant:", "- zebra:"];
            let other = ask(&reversed).await.system;
            assert!(
                places.map(|name| other.find(name).unwrap()).is_sorted(),
                "{other}"
            );
            // The same whichever test binary this is part of.
            insta::with_settings!({prepend_module_to_snapshot => false}, {
                let name = format!("conformance__prompt_{}", vendor.name());
                insta::assert_json_snapshot!(name, first.body);
            });
        }
    });
}
