//! Functions of a `tools.py`, described and called in the sandbox.

use super::support::{RunningToolbox, names, native, text};
use prowess_sandbox::Policy;
use prowess_testkit::SkillFixture;
use prowess_toolbox::ToolboxOptions;
use serde_json::json;

const TOOLS: &str = r#"
import enum, pathlib, typing
from prowess import Context, tool
import helper

class Unit(enum.Enum):
    METRES = "m"
    FEET = "ft"

@tool
def convert(value: float, unit: Unit = Unit.METRES, note: typing.Optional[str] = None) -> str:
    """Convert a length.

    The result is text.

    Args:
        value: The length,
            whatever it is.
        unit (Unit): What it is given in.
    Returns:
        The text.
    """
    return f"{value:.1f} {unit.name} {note}"

@tool(name="sum_up", description="Add numbers.")
async def total(numbers: list[int], start: int = 0) -> int:
    return helper.add(numbers) + start

@tool
def about(ctx: Context) -> dict:
    """Say where we are.

    :param ctx: not shown
    """
    print("this is no result")
    return {"skill": ctx.skill, "data": ctx.data, "team": ctx.metadata["team"], "user": ctx.user_id}

@tool
def choose(mode: typing.Literal["a", "b"], where: pathlib.Path, *, more: typing.Annotated[int, "How many."] = 1):
    """Choose."""
    assert isinstance(where, pathlib.Path)

def build_tools(ctx):
    def greet(name: str) -> str:
        "Greet someone."
        return f"hello {name} from {ctx.skill}"
    return [greet]
"#;

#[tokio::test]
async fn tools_written_for_other_runtimes_need_no_edit() {
    for module in ["prowess", "jeeves", "jeevesagent", "loomflow"] {
        let tools = format!("from {module} import tool\n@tool\ndef f(x: int):\n    return x + 1\n");
        let skill = SkillFixture::new("other").file("tools.py", tools);
        let running = RunningToolbox::new(&[skill]).await;
        running.load("other").await;
        let outcome = running.call("other__f", json!({"x": 41})).await;
        assert_eq!(text(&outcome), "42", "{module}");
    }
}

fn maths() -> SkillFixture {
    SkillFixture::new("maths")
        .file("tools.py", TOOLS)
        .file("helper.py", "add = sum\n")
}

fn broken(name: &str, tools: &str) -> SkillFixture {
    SkillFixture::new(name).file("tools.py", tools.to_owned())
}

/// A traceback without the marks below its lines, which not every Python makes.
fn without_marks(text: &str) -> String {
    let marks = |line: &&str| line.trim().is_empty() || line.contains(|c| !" ~^".contains(c));
    text.lines().filter(marks).collect::<Vec<_>>().join("\n")
}

async fn loaded() -> RunningToolbox {
    let options = ToolboxOptions {
        context: json!({ "team": "blue" }).as_object().unwrap().clone(),
        ..ToolboxOptions::default()
    };
    let running = RunningToolbox::with(&[maths()], options, Policy::default()).await;
    running.load("maths").await;
    running
}

#[tokio::test]
async fn hints_and_docstrings_become_the_schema() {
    let running = loaded().await;
    let tools = running.toolbox.tools();
    let lines: Vec<String> = tools[1..]
        .iter()
        .map(|tool| format!("{}: {}\n{}", tool.name, tool.description, tool.input_schema))
        .collect();
    insta::assert_snapshot!(lines.join("\n\n"), @r#"
    maths__convert: Convert a length.

    The result is text.
    {"type":"object","properties":{"value":{"type":"number","description":"The length, whatever it is."},"unit":{"type":"string","enum":["m","ft"],"description":"What it is given in."},"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}},"required":["value"],"additionalProperties":false}

    maths__sum_up: Add numbers.
    {"type":"object","properties":{"numbers":{"type":"array","items":{"type":"integer"}},"start":{"type":"integer","default":0}},"required":["numbers"],"additionalProperties":false}

    maths__about: Say where we are.
    {"type":"object","properties":{},"required":[],"additionalProperties":false}

    maths__choose: Choose.
    {"type":"object","properties":{"mode":{"type":"string","enum":["a","b"]},"where":{"type":"string"},"more":{"type":"integer","description":"How many.","default":1}},"required":["mode","where"],"additionalProperties":false}

    maths__greet: Greet someone.
    {"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}
    "#);
}

#[tokio::test]
async fn functions_are_called_with_their_arguments() {
    let running = loaded().await;
    let mut seen = String::new();
    for (name, input) in [
        ("maths__convert", json!({ "value": 2, "unit": "ft" })),
        ("maths__sum_up", json!({ "numbers": [1, 2], "start": 10 })),
        ("maths__about", json!({})),
        ("maths__choose", json!({ "mode": "a", "where": "/tmp" })),
        ("maths__greet", json!({ "name": "you" })),
    ] {
        let outcome = running.call(name, input).await;
        assert!(!outcome.is_error, "{}", text(&outcome));
        seen.push_str(&format!("{name}: {}\n", text(&outcome)));
    }
    insta::assert_snapshot!(seen, @r#"
    maths__convert: 2.0 FEET None
    maths__sum_up: 13
    maths__about: {"skill": "maths", "data": "/mnt/data", "team": "blue", "user": "someone"}
    [stderr]
    this is no result
    maths__choose: [no output]
    maths__greet: hello you from maths
    "#);
}

#[tokio::test]
async fn a_call_is_shown_natively_with_its_result_apart_from_what_was_printed() {
    let running = loaded().await;
    let outcome = running.call("maths__about", json!({})).await;
    insta::assert_json_snapshot!(native(&outcome), @r#"
    {
      "name": "bash_code_execution",
      "input": {
        "command": "python3 /skills/maths/tools.py about '{}'"
      },
      "content": {
        "type": "bash_code_execution_result",
        "stdout": "{\"skill\": \"maths\", \"data\": \"/mnt/data\", \"team\": \"blue\", \"user\": \"someone\"}",
        "stderr": "this is no result\n",
        "return_code": 0,
        "content": []
      }
    }
    "#);
}

#[tokio::test]
async fn arguments_that_break_the_schema_never_reach_the_function() {
    let running = loaded().await;
    let mut texts = Vec::new();
    for (name, input) in [
        ("maths__convert", json!({})),
        ("maths__convert", json!({ "value": "2" })),
        ("maths__convert", json!({ "value": 2, "unit": "miles" })),
        ("maths__convert", json!({ "value": 2, "note": 3 })),
        ("maths__sum_up", json!({ "numbers": [1, "2"] })),
        ("maths__about", json!({ "ctx": {} })),
    ] {
        let outcome = running.call(name, input).await;
        assert!(outcome.is_error);
        texts.push(text(&outcome).to_owned());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Error: argument `value` is missing
    Error: argument `value` must be a number, not a string "2"
    Error: argument `unit` must be one of "m", "ft", not a string "miles"
    Error: argument `note` must be a string or null, not a number 3
    Error: argument `numbers[1]` must be an integer, not a string "2"
    Error: unknown argument `ctx`; available: none
    "#);
}

#[tokio::test]
async fn an_exception_is_a_result_with_the_skills_own_traceback() {
    let tools = "from prowess_tools import tool\n@tool\ndef f():\n    return 1 / 0\n";
    let running = RunningToolbox::new(&[broken("bad", tools)]).await;
    running.load("bad").await;
    let outcome = running.call("bad__f", json!({})).await;
    assert!(outcome.is_error);
    insta::assert_snapshot!(without_marks(text(&outcome)), @r#"
    Error (exit=1)
    Traceback (most recent call last):
      File "/skills/bad/tools.py", line 4, in f
        return 1 / 0
    ZeroDivisionError: division by zero
    "#);
}

#[tokio::test]
async fn an_import_error_is_reported_when_the_skill_is_loaded_and_harms_no_other() {
    let running = RunningToolbox::new(&[broken("bad", "import no_such_module\n"), maths()]).await;
    let bad = running.load("bad").await;
    insta::assert_snapshot!(text(&bad), @r#"
    # bad

    Do what the name says.

    ---
    Files of this skill, at /skills/bad:
    SKILL.md (105 bytes)
    tools.py (22 bytes)
    Problem with `bad`: the tools of its tools.py are missing: importing it failed:
    Traceback (most recent call last):
      File "/skills/bad/tools.py", line 1, in <module>
        import no_such_module
    ModuleNotFoundError: No module named 'no_such_module'
    "#);
    running.load("maths").await;
    assert!(names(&running.toolbox).contains(&"maths__greet".to_owned()));
}

#[tokio::test]
async fn what_is_no_tool_is_reported_when_the_skill_is_loaded() {
    let mut problems = String::new();
    for tools in [
        "def f(): pass\n",
        "from prowess import tool\n@tool\ndef f(*args): pass\n",
        "from prowess import tool\n@tool\ndef f(x: 'Nonsense'): pass\n",
        "from prowess import tool\n@tool(name='a b')\ndef f(): pass\n",
        "from prowess import tool\n@tool\ndef f(): pass\n@tool(name='f')\ndef g(): pass\n",
        "def build_tools(ctx):\n    return [7]\n",
        "this is no python\n",
    ] {
        let running = RunningToolbox::new(&[broken("bad", tools)]).await;
        let outcome = running.load("bad").await;
        let problem = text(&outcome).split_once("Problem with").unwrap().1;
        // Tracebacks look different from one Python to the next; their ends do not.
        problems.push_str(&format!("{}\n", problem.lines().last().unwrap().trim()));
    }
    insta::assert_snapshot!(problems, @r#"
    `bad`: the tools of its tools.py are missing: it has none; decorate functions with @tool, or define build_tools(ctx)
    TypeError: f: the argument args cannot be passed by name
    NameError: name 'Nonsense' is not defined
    `bad`: the tools of its tools.py are missing: "a b" cannot be the name of a tool: use up to 64 letters, digits, `_` and `-`
    ValueError: two tools are named f
    TypeError: build_tools returned 7, which is not a function
    SyntaxError: invalid syntax
    "#);
}

#[tokio::test]
async fn a_long_result_is_cut_and_the_cut_is_named() {
    let tools = "from prowess import tool\n@tool\ndef f():\n    return 'ü' * 1000000\n";
    let running = RunningToolbox::new(&[broken("long", tools)]).await;
    running.load("long").await;
    let outcome = running.call("long__f", json!({})).await;
    let output = text(&outcome);
    assert!(
        !outcome.is_error && output.len() < 70_000,
        "{}",
        output.len()
    );
    assert!(output.contains("bytes are left out here"));
}

#[tokio::test]
async fn what_a_call_leaves_in_memory_is_gone_and_what_it_leaves_in_files_stays() {
    let tools = "from prowess import tool\nseen = []\n@tool\ndef f():\n    seen.append(1)\n    open('log', 'a').write('x')\n    return [len(seen), open('log').read()]\n";
    let running = RunningToolbox::new(&[broken("count", tools)]).await;
    running.load("count").await;
    for expected in [r#"[1, "x"]"#, r#"[1, "xx"]"#] {
        let outcome = running.call("count__f", json!({})).await;
        assert!(text(&outcome).starts_with(expected), "{}", text(&outcome));
    }
}

#[tokio::test]
async fn what_a_function_prints_is_passed_on_as_it_comes_and_its_answer_is_not() {
    let running = loaded().await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    running
        .toolbox
        .call("maths__about", &json!({}), Some(sender))
        .await;
    let mut seen = Vec::new();
    while let Some(chunk) = receiver.recv().await {
        seen.extend(chunk.bytes);
    }
    assert_eq!(String::from_utf8(seen).unwrap(), "this is no result\n");
}

#[tokio::test]
async fn what_is_known_of_a_skills_functions_is_not_described_again() {
    let tools =
        "from prowess import tool\nopen('imported', 'a').write('x')\n@tool\ndef f(): pass\n";
    let once = broken("once", tools);
    let first = RunningToolbox::new(std::slice::from_ref(&once)).await;
    first.load("once").await;
    assert_eq!(text(&first.bash("cat imported").await), "x");
    let next = RunningToolbox::new(&[once]).await;
    next.load("once").await;
    assert!(names(&next.toolbox).contains(&"once__f".to_owned()));
    assert_eq!(next.workspace.container_id(), None, "nothing had to run");
}
