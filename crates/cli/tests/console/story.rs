//! A skill and a model with which most of these tests work: the model reads the skill, runs its
//! script, and the script makes a text, a table and a picture.

use prowess_testkit::SkillFixture;
use serde_json::Value;

use crate::stage::{OPERATOR, Stage};

/// What the model says.
pub(crate) const SCRIPT: &str = r#"
[[step]]
when.user = "make"
text = "Let me see."
calls = [{ name = "load_skill", input = { name = "report" } }]

[[step]]
when.tool_result = "Run `python3"
text = "Now I run it."
calls = [{ name = "bash_code_execution", input = { command = "python3 /skills/report/scripts/make.py" } }]

[[step]]
when.tool_result = "made it"
text = "There it is: three files, of which one is a text, one a table and one a picture."
pace = { chunk = 4, delay_ms = 60 }

[[step]]
text = "You said: {{user}}"
"#;

/// Its script writes a picture of one colour, without any package.
const MAKE: &str = r#"
import struct, time, zlib
time.sleep(1)  # long enough to be watched
open('/mnt/data/report.txt', 'w').write('all is well\n')
open('/mnt/data/table.csv', 'w').write('month,sales\nMay,3\nJune,5\n')
def chunk(kind, data):
    body = kind + data
    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
rows = b''.join(b'\x00' + b'\x2f\x5b\xd7' * 64 for _ in range(64))
head = struct.pack('>IIBBBBB', 64, 64, 8, 2, 0, 0, 0)
png = chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
open('/mnt/data/chart.png', 'wb').write(b'\x89PNG\r\n\x1a\n' + png)
print('\x1b[32mmade it\x1b[0m')
"#;

/// The skill.
pub(crate) fn report() -> SkillFixture {
    SkillFixture::new("report")
        .field(
            "description",
            "Writes the weekly report with a table and a chart. Use it for reports of sales.",
        )
        .body("# Weekly report\n\nRun `python3 /skills/report/scripts/make.py`.\n")
        .script("scripts/make.py", MAKE)
        .file("references/style.md", "# Style\n\nShort sentences.\n")
}

/// The skill after somebody worked on it.
pub(crate) fn better_report() -> SkillFixture {
    report()
        .body("# Weekly report\n\nRun `python3 /skills/report/scripts/make.py`.\n\nThen say so.\n")
        .file("references/more.md", "# More\n\nOne chart is enough.\n")
}

/// A server on which something has happened, and the addresses of its pages.
pub(crate) struct Story {
    pub(crate) stage: Stage,
    pub(crate) skill: String,
    pub(crate) run: String,
    /// Where the code of the run worked.
    pub(crate) container: String,
    /// A text that the run made.
    pub(crate) file: String,
    pub(crate) key: String,
}

impl Story {
    /// Two versions of the skill, runs, and a key.
    pub(crate) async fn prepare() -> Story {
        let stage = Stage::start(SCRIPT);
        let skill = stage.upload(OPERATOR, &report()).await;
        let versions = format!("/v1/skills/{skill}/versions");
        stage.upload_to(OPERATOR, &versions, &better_report()).await;
        let other = SkillFixture::new("translate").field("description", "Translates texts.");
        stage.upload(OPERATOR, &other).await;
        stage.key("ci", "default", "use");
        stage.ask(OPERATOR, &skill, "make the report").await;
        stage.ask(OPERATOR, &skill, "hello").await;
        let runs = stage.runs(OPERATOR, 2).await;
        let run = runs[1].clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let record = stage.get(OPERATOR, &format!("/v1/runs/{run}")).await;
        let containers = stage.get(OPERATOR, "/openai/v1/containers").await;
        let keys = stage.get(OPERATOR, "/v1/admin/keys").await;
        Story {
            container: text(&containers["data"][0]["id"]),
            file: text(&record["files"][0]["file_id"]),
            key: text(&keys["data"][0]["id"]),
            stage,
            skill,
            run,
        }
    }

    /// Every page that shows something: a name for its picture, and its address.
    pub(crate) fn pages(&self) -> Vec<(&'static str, String)> {
        let skill = &self.skill;
        let run = &self.run;
        let tab = |name: &str| format!("/console/skills/{skill}?tab={name}");
        [
            ("skills", "/console/skills".to_owned()),
            ("skills-search", "/console/skills?q=report".to_owned()),
            ("skill", format!("/console/skills/{skill}")),
            ("skill-raw", format!("/console/skills/{skill}?raw=1")),
            ("skill-files", tab("files")),
            ("skill-versions", tab("versions")),
            ("skill-usage", tab("usage")),
            ("skill-install", tab("install")),
            ("version", format!("/console/skills/{skill}/versions/2")),
            (
                "compare",
                format!("/console/skills/{skill}/compare?from=1&to=2"),
            ),
            ("upload", "/console/upload".to_owned()),
            ("playground", "/console/playground".to_owned()),
            (
                "playground-filled",
                format!("/console/playground?model=demo&message=Hi&skill={skill}"),
            ),
            ("runs", "/console/runs".to_owned()),
            ("run", format!("/console/runs/{run}")),
            ("preview", format!("/console/preview/files/{}", self.file)),
            ("containers", "/console/containers".to_owned()),
            (
                "container",
                format!("/console/containers/{}", self.container),
            ),
            ("usage", "/console/usage".to_owned()),
            ("usage-skills", "/console/usage?by=skill".to_owned()),
            ("keys", "/console/keys".to_owned()),
            ("one-key", format!("/console/keys/{}", self.key)),
            ("providers", "/console/providers".to_owned()),
            ("audit", "/console/audit".to_owned()),
            ("settings", "/console/settings".to_owned()),
        ]
        .to_vec()
    }
}
