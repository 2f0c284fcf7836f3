//! The report as SARIF.

use insta::assert_json_snapshot;
use prowess_skill::sarif::{SarifLevel, SarifResult, SarifRule, SarifTool, render};
use prowess_skill::scan::RULES;
use serde_json::Value;

use crate::skill::file;

pub(crate) const TOOL: SarifTool<'static> = SarifTool {
    name: "prowess",
    version: "1.2.3",
    information_uri: "https://example.com",
};

fn list<'v>(value: &'v Value, pointer: &str) -> &'v Vec<Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("no list at {pointer}"))
}

#[test]
fn plain_results_make_a_whole_log() {
    let rule = SarifRule {
        id: "name-mismatch",
        title: "Name differs from the folder",
        description: "The name must be that of the folder.",
        help: "Rename one of them.",
        level: SarifLevel::Error,
        security_severity: None,
    };
    let result = SarifResult {
        rule_id: "name-mismatch",
        level: SarifLevel::Error,
        message: "the name is `a` but the folder is `b`".to_owned(),
        path: Some("my skill/SKILL.md".into()),
        line: Some(2),
        column: Some(7),
        fingerprint: Some("abc"),
        properties: vec![("severity", "error")],
    };
    assert_json_snapshot!(render(TOOL, &[rule], &[result]), @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "prowess",
              "version": "1.2.3",
              "informationUri": "https://example.com",
              "rules": [
                {
                  "id": "name-mismatch",
                  "shortDescription": {
                    "text": "Name differs from the folder"
                  },
                  "fullDescription": {
                    "text": "The name must be that of the folder."
                  },
                  "help": {
                    "text": "Rename one of them."
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                }
              ]
            }
          },
          "columnKind": "unicodeCodePoints",
          "results": [
            {
              "ruleId": "name-mismatch",
              "ruleIndex": 0,
              "level": "error",
              "message": {
                "text": "the name is `a` but the folder is `b`"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "my%20skill/SKILL.md"
                    },
                    "region": {
                      "startLine": 2,
                      "startColumn": 7
                    }
                  }
                }
              ],
              "partialFingerprints": {
                "prowess/v1": "abc"
              },
              "properties": {
                "severity": "error"
              }
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn a_report_names_every_rule_and_every_result_refers_to_one() {
    let log = file("a.py", "eval(x)")
        .and("b.bin", b"\0\x01")
        .scan()
        .to_sarif(TOOL);
    assert_eq!(log["version"], "2.1.0");
    let rules = list(&log, "/runs/0/tool/driver/rules");
    assert_eq!(rules.len(), RULES.len());
    let results = list(&log, "/runs/0/results");
    assert_eq!(results.len(), 2);
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].is_string());
        assert_eq!(
            result["partialFingerprints"]["prowess/v1"]
                .as_str()
                .unwrap()
                .len(),
            64
        );
    }
    let (first, second) = (&results[0], &results[1]);
    assert_eq!(
        first["locations"][0]["physicalLocation"]["region"]["startLine"],
        1
    );
    assert!(
        second["locations"][0]["physicalLocation"]
            .get("region")
            .is_none()
    );
}
