//! From files to a skill: what loads, what is reported, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use bytes::Bytes;
use insta::assert_snapshot;
use proptest::prelude::*;
use prowess_skill::fields::allowed_tools::AllowedTools;
use prowess_skill::frontmatter::SourceText;
use prowess_skill::{
    Bundle, BundleLimits, LoadOptions, LoadedSkill, Profile, Severity, Skill, reference,
};

fn load_files(files: &[(&str, &str)], profile: Profile) -> LoadedSkill {
    let files = files
        .iter()
        .map(|(name, text)| (*name, Bytes::from((*text).to_owned()), false));
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    let options = LoadOptions {
        profile,
        folder: Some("s"),
        ..LoadOptions::default()
    };
    Skill::load(bundle, &options)
}

fn load(text: &str) -> LoadedSkill {
    load_files(&[("SKILL.md", text)], Profile::Lenient)
}

/// A skill called `s` with more frontmatter.
fn with(fields: &str) -> String {
    format!("---\nname: s\ndescription: d\n{fields}\n---\nDo it.\n")
}

/// `loads` or `refused`, then a line for each diagnostic.
fn render_diagnostics(loaded: &LoadedSkill) -> String {
    let mut lines = vec![
        if loaded.skill.is_some() {
            "loads"
        } else {
            "refused"
        }
        .to_owned(),
    ];
    lines.extend(loaded.diagnostics.iter().map(|d| {
        let place = d
            .place
            .map_or(String::new(), |p| format!(" {}:{}", p.line, p.column));
        format!(
            "{:?} {} {}{place}: {}",
            d.severity, d.code, d.file, d.message
        )
    }));
    lines.join("\n")
}

#[test]
fn a_plain_skill_has_no_diagnostics() {
    let loaded = load(&with("license: MIT\nmetadata:\n  author: me"));
    assert_snapshot!(render_diagnostics(&loaded), @"loads");
    let skill = loaded.skill.unwrap();
    assert_eq!((skill.name.as_str(), skill.body.as_str()), ("s", "Do it."));
    assert_eq!(skill.license.as_deref(), Some("MIT"));
}

#[test]
fn quirks_of_real_files_load_and_are_reported() {
    let quirks = [
        "\u{feff}---\nname: s\ndescription: d\n---\nx",
        "\n\n---\nname: s\ndescription: d\n---\nx",
        "---\r\nname: s\r\ndescription: d\r\n---\r\nx",
        "---\nname: s\ndescription: Use when: asked\nallowed-tools: Bash\n---\nx",
        "---\nname: s\ndescription: | Use it\n  well\n---\nx",
        "---\nname: s\ndescription: d\nmetadata: {a: [1, 2], b: {c: d}}\n---\nx",
        "---\nname: s\ndescription: d\nversion: 1.0\nname: s\n---\nx",
        "---\nname: other\ndescription: d\n---\nx",
        "---\ndescription: d\n---\nx",
        "---\nname:\ndescription: d\n---\nx",
        "---\nname: s\ndescription: a --- b\n---\nx",
        "---\nname: s\ndescription: &a d\nlicense: *a\n---\nx",
        "---\nname: My Skill!\ndescription: d\n---\nx",
        "---\nname: s\ndescription: d\n---\n",
    ];
    let rendered: Vec<String> = quirks
        .iter()
        .map(|text| render_diagnostics(&load(text)))
        .collect();
    assert_snapshot!(rendered.join("\n\n"), @"
    loads
    Warning byte-order-mark SKILL.md 1:1: the file begins with a byte-order mark

    loads
    Warning leading-lines SKILL.md 1:1: blank lines precede the frontmatter

    loads
    Note carriage-returns SKILL.md 1:1: lines end in carriage returns

    loads
    Warning repaired-quotes SKILL.md 3:1: the value needs quotes to be valid YAML; read as text
    Warning permissions-ignored SKILL.md 4:1: `allowed-tools` is ignored: the frontmatter is not valid YAML

    loads
    Warning repaired-block SKILL.md 3:1: text follows a block indicator (`|` or `>`) on its line; read as its first line

    loads
    Note flow-style SKILL.md 4:11: values in brackets or braces: some readers reject this
    Note metadata-not-text SKILL.md 4:15: `metadata.a` is not text

    loads
    Note unknown-field SKILL.md 4:1: `version` is not a field of the standard (it is understood here)
    Warning duplicate-key SKILL.md 5:1: `name` is written more than once; the last one counts

    loads
    Warning name-mismatch SKILL.md 2:7: Directory name 's' must match skill name 'other'

    loads
    Warning name-missing SKILL.md: Missing required field in frontmatter: name

    loads
    Warning name-invalid SKILL.md 2:5: Field 'name' must be a non-empty string

    loads

    loads
    Warning anchors SKILL.md 3:14: an anchor: some readers reject this

    loads
    Warning name-not-lowercase SKILL.md 2:7: Skill name 'My Skill!' must be lowercase
    Warning name-bad-character SKILL.md 2:7: Skill name 'My Skill!' contains invalid characters. Only letters, digits, and hyphens are allowed.
    Warning name-mismatch SKILL.md 2:7: Directory name 's' must match skill name 'My Skill!'

    loads
    Note body-empty SKILL.md: there is nothing after the frontmatter
    ");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_place() {
    let broken = [
        "",
        "# Just text\n",
        "---\nname: s\ndescription: d\n",
        "---\n- a\n---\n",
        "---\n\n---\n",
        "---\nname: s\n---\n",
        "---\nname: s\ndescription:\n---\n",
        "---\nname: s\ndescription:\n  - a\n---\n",
        "---\nname: s\n description: d\n\tx: [\n---\n",
    ];
    let rendered: Vec<String> = broken
        .iter()
        .map(|text| render_diagnostics(&load(text)))
        .collect();
    assert_snapshot!(rendered.join("\n\n"), @"
    refused
    Error no-frontmatter SKILL.md 1:1: the file does not begin with a frontmatter (`---`)

    refused
    Error no-frontmatter SKILL.md 1:1: the file does not begin with a frontmatter (`---`)

    refused
    Error unclosed-frontmatter SKILL.md 1:1: the frontmatter is not closed: no later line begins with `---`

    refused
    Error not-a-mapping SKILL.md 2:1: the frontmatter is not a mapping of fields

    refused
    Error not-a-mapping SKILL.md 1:1: the frontmatter is empty

    refused
    Error description-missing SKILL.md: Missing required field in frontmatter: description
    Note body-empty SKILL.md: there is nothing after the frontmatter

    refused
    Note body-empty SKILL.md: there is nothing after the frontmatter
    Error description-invalid SKILL.md 3:12: Field 'description' must be a non-empty string

    refused
    Note body-empty SKILL.md: there is nothing after the frontmatter
    Error description-invalid SKILL.md 4:3: Field 'description' must be a non-empty string

    refused
    Error yaml-syntax SKILL.md 3:13: the YAML cannot be read: mapping values are not allowed in this context
    ");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bundle =
        Bundle::from_skill_md(&b"---\nname: \xff\n---\n"[..], &BundleLimits::default()).unwrap();
    assert_snapshot!(render_diagnostics(&Skill::load(bundle, &LoadOptions::default())), @"
    refused
    Error not-utf8 SKILL.md: not valid UTF-8: line 2 has an invalid byte (offset 10)
    ");
}

#[test]
fn a_nameless_skill_takes_its_folders_name_and_needs_one() {
    let text = "---\ndescription: d\n---\nx";
    assert_eq!(load(text).skill.unwrap().name, "s");
    let bundle = Bundle::from_skill_md(text, &BundleLimits::default()).unwrap();
    assert_snapshot!(render_diagnostics(&Skill::load(bundle, &LoadOptions::default())), @"
    refused
    Warning name-missing SKILL.md: Missing required field in frontmatter: name
    Error name-missing SKILL.md: there is no name, and no folder to take one from
    ");
}

#[test]
fn the_file_may_be_spelled_otherwise() {
    let loaded = load_files(&[("skill.md", &with(""))], Profile::Lenient);
    assert_snapshot!(render_diagnostics(&loaded), @"
    loads
    Warning skill-file-case skill.md: the file is called `skill.md`; some clients look for `SKILL.md` only
    ");
}

#[test]
fn allowed_tools_have_three_spellings() {
    let only = |fields: &str| load(&with(fields)).skill.unwrap().allowed_tools;
    let expected = AllowedTools::Only(vec!["Read".into(), "Bash(git diff *)".into()]);
    assert_eq!(only("allowed-tools: Read Bash(git diff *)"), expected);
    assert_eq!(only("allowed-tools: Read, Bash(git diff *)"), expected);
    assert_eq!(
        only("allowed-tools:\n  - Read\n  - Bash(git diff *)"),
        expected
    );
    assert_eq!(only("allowed-tools: [Read, Bash(git diff *)]"), expected);
    assert_eq!(only(""), AllowedTools::Unstated);
}

#[test]
fn permissions_from_unsound_yaml_are_not_trusted() {
    for fields in [
        "allowed-tools: Bash\nx: a: b",
        "allowed-tools: Read\nallowed-tools: Bash",
        "allowed-tools:\n  a: b",
    ] {
        let skill = load(&with(fields)).skill.unwrap();
        assert_eq!(skill.allowed_tools, AllowedTools::Distrusted, "{fields}");
    }
}

const TOOLS: &str = "\
tools:
  resize:
    description: Make an image smaller.
    script: scripts/resize.py
    args:
      file: string
      width: {type: integer, description: In pixels., default: 640}
      format: {type: string, enum: [png, gif]}
      keep: {type: boolean, required: false}
  plain:
    description: No arguments.
    script: ./scripts/resize.py";

#[test]
fn declared_tools_are_typed_and_ordered() {
    let files = [
        ("SKILL.md", with(TOOLS)),
        ("scripts/resize.py", String::new()),
        ("tools.py", String::new()),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let loaded = load_files(&files, Profile::Lenient);
    let skill = loaded.skill.unwrap();
    assert!(skill.python_tools);
    insta::assert_json_snapshot!(skill.tools, @r#"
    [
      {
        "name": "resize",
        "description": "Make an image smaller.",
        "script": "scripts/resize.py",
        "args": [
          {
            "name": "file",
            "type": "string",
            "required": true
          },
          {
            "name": "width",
            "type": "integer",
            "description": "In pixels.",
            "default": 640,
            "required": false
          },
          {
            "name": "format",
            "type": "string",
            "enum": [
              "png",
              "gif"
            ],
            "required": true
          },
          {
            "name": "keep",
            "type": "boolean",
            "required": false
          }
        ]
      },
      {
        "name": "plain",
        "description": "No arguments.",
        "script": "scripts/resize.py",
        "args": []
      }
    ]
    "#);
}

#[test]
fn a_tool_without_a_description_is_kept_and_remarked_on() {
    let text = with("tools:\n  t: {script: a.py}");
    let loaded = load_files(&[("SKILL.md", &text), ("a.py", "")], Profile::Lenient);
    let skill = loaded.skill.as_ref().unwrap();
    assert_eq!(skill.tools[0].description, "Run the bundled script a.py.");
    let found = loaded
        .diagnostics
        .iter()
        .find(|d| d.code == "tool-description");
    assert_eq!(
        found.unwrap().message,
        "the tool `t` has no description; the model sees only its script's path"
    );
}

#[test]
fn tools_that_break_a_rule_are_left_out_and_reported() {
    let tools = [
        "tools: [Read, Write]",
        "tools:\n  Bad Name: {description: d, script: a.py}",
        "tools:\n  t: text",
        "tools:\n  t: {description: d}",
        "tools:\n  t: {description: d, script: ../../etc/passwd}",
        "tools:\n  t: {description: d, script: /bin/sh}",
        "tools:\n  t: {description: d, script: missing.py}",
        "tools:\n  t: {description: d, script: a.py, args: [x]}",
        "tools:\n  t: {description: d, script: a.py, args: {x: float64}}",
        "tools:\n  t: {description: d, script: a.py, args: {x: {type: integer, enum: [1, two]}}}",
        "tools:\n  t: {description: d, script: a.py, args: {x: {default: 3}}}",
        "tools:\n  t: {description: d, script: a.py, args: {x: {enum: [a], default: b}}}",
        "tools:\n  t: {description: d, script: a.py, args: {'x y': string}}",
        "tools:\n  t: {description: d, script: a.py, args: {x: {typ: string}}}",
    ];
    let rendered: Vec<String> = tools
        .iter()
        .map(|tools| {
            let text = with(tools);
            let loaded = load_files(&[("SKILL.md", &text), ("a.py", "")], Profile::Lenient);
            assert_eq!(loaded.skill.as_ref().unwrap().tools, [], "{tools}");
            let found = loaded
                .diagnostics
                .iter()
                .filter(|d| d.code.starts_with("tool") || d.code == "field-type");
            found
                .map(|d| format!("{}: {}", d.code, d.message))
                .collect::<Vec<_>>()
                .join("\n")
        })
        .collect();
    assert_snapshot!(rendered.join("\n"), @r#"
    field-type: `tools` is not a mapping of tool names; it declares no tools
    tool-name: `Bad Name` cannot be the name of a tool
    tool-invalid: the tool `t` must be a mapping with `script` and, preferably, `description`
    tool-invalid: the tool `t` has no script
    tool-script-path: the script of `t` is not a valid path inside the skill: `../../etc/passwd` has a `..` part, which could leave the skill's folder; remove it
    tool-script-path: the script of `t` is not a valid path inside the skill: `/bin/sh` is absolute; write it relative to the skill's folder
    tool-script-missing: the script of `t` does not exist: missing.py
    tool-argument: `args` of `t` must be a mapping of argument names
    tool-argument: argument `x` of `t`: unknown type `float64`; use string, integer, number, boolean, array or object
    tool-argument: argument `x` of `t`: `enum` has "two", which is not of the argument's type
    tool-argument: argument `x` of `t`: the default 3 is not of the argument's type
    tool-argument: argument `x` of `t`: the default "b" is not in `enum`
    tool-argument: argument `x y` of `t`: a name has only letters, digits, `_` and `-`, and at most 64 of them
    tool-argument: argument `x` of `t`: unknown field `typ`
    "#);
}

#[test]
fn text_without_files_may_not_declare_tools() {
    let options = LoadOptions {
        folder: Some("s"),
        ..LoadOptions::default()
    };
    assert!(Skill::from_text(&with(""), &options).skill.is_some());
    let loaded = Skill::from_text(&with(TOOLS), &options);
    assert!(loaded.skill.is_none());
    assert!(loaded.diagnostics.iter().any(|d| d.code == "tools-in-text"));
}

#[test]
fn extension_fields_are_read_and_unknown_ones_kept_in_order() {
    let fields = "when_to_use: When asked.\nargument-hint: [file]\narguments: a b\ndisable-model-invocation: true\nuser-invocable: no\nmodel: inherit\npaths: '*.rs, *.toml'\nrequires:\n  - base\n  - base\n  - other\nzeta: {b: 1, a: [x]}\nhooks: {}\n";
    let loaded = load(&with(fields));
    let skill = loaded.skill.as_ref().unwrap();
    insta::assert_json_snapshot!(skill.invocation, @r#"
    {
      "when_to_use": "When asked.",
      "argument_hint": "[file]",
      "arguments": [
        "a",
        "b"
      ],
      "by_model": false,
      "by_user": false,
      "paths": [
        "*.rs",
        "*.toml"
      ]
    }
    "#);
    assert_eq!(skill.requires, ["base", "other"]);
    let keys: Vec<_> = skill.frontmatter.keys().map(String::as_str).collect();
    assert_eq!(keys.first(), Some(&"name"));
    assert_eq!(keys.last(), Some(&"hooks"));
    assert_eq!(
        skill.frontmatter["zeta"].to_string(),
        r#"{"b":1,"a":["x"]}"#
    );
    assert!(
        loaded
            .diagnostics
            .iter()
            .any(|d| d.code == "host-execution")
    );
}

#[test]
fn a_skill_that_requires_itself_is_no_valid_skill() {
    for fields in [
        "requires: s\n",
        "requires: [base, s]\n",
        "requires:\n  - base\n  - \" s \"\n",
    ] {
        let loaded = load(&with(fields));
        let itself: Vec<_> = loaded
            .diagnostics
            .iter()
            .filter(|d| d.code == "requires-itself")
            .collect();
        assert_eq!(itself.len(), 1, "{fields}");
        assert!(!loaded.is_valid(), "{fields}");
        assert!(itself.iter().all(|d| d.place.is_some()), "{fields}");
    }
    // Without a name of its own it has the folder's.
    let loaded = load("---\ndescription: d\nrequires: s\n---\nDo it.\n");
    assert!(
        loaded
            .diagnostics
            .iter()
            .any(|d| d.code == "requires-itself")
    );
    let others = load(&with("requires: [ss, S, base]\n"));
    assert!(others.is_valid());
}

#[test]
fn what_cannot_be_the_name_of_a_required_skill_is_ignored_with_a_warning() {
    for (fields, required) in [
        ("requires: {mcp: [rube]}\n", &[][..]),
        ("requires:\n  mcp:\n    - rube\n", &[]),
        ("requires: MuseScore 4 (musescore.org)\n", &[]),
        ("requires: 'python>=3.10'\n", &[]),
        ("requires:\n", &[]),
        ("requires: [base, Python 3, {bins: [git]}]\n", &["base"]),
    ] {
        for profile in [Profile::Lenient, Profile::Upload] {
            let text = with(fields);
            let loaded = load_files(&[("SKILL.md", &text)], profile);
            assert!(loaded.is_valid(), "{fields}: {:?}", loaded.diagnostics);
            assert_eq!(
                loaded.skill.as_ref().unwrap().requires,
                required,
                "{fields}"
            );
            let problems = loaded.diagnostics.iter();
            let problems: Vec<_> = problems.filter(|d| d.code == "requires-invalid").collect();
            assert!(!problems.is_empty(), "{fields}");
            for problem in problems {
                assert_eq!(problem.severity, Severity::Warning, "{fields}");
                assert!(problem.message.contains("is ignored"), "{problem:?}");
                assert!(problem.place.is_some(), "{problem:?}");
            }
        }
    }
    // Names of real skills, though the standard has only letters, digits and hyphens.
    let named = load(&with(
        "requires: [web_search, 'ce:compound', obra/superpowers@tdd]\n",
    ));
    let names = ["web_search", "ce:compound", "obra/superpowers@tdd"];
    assert_eq!(named.skill.unwrap().requires, names);
}

#[test]
fn uploads_keep_the_rules_of_the_large_hosts() {
    let refused = |name: &str, description: &str| {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nx");
        let loaded = load_files(&[("SKILL.md", &text)], Profile::Upload);
        assert!(!loaded.is_valid());
        let codes = loaded
            .diagnostics
            .iter()
            .map(|d| d.code)
            .filter(|c| c.starts_with("upload"));
        codes.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(refused("claude-tricks", "d"), "upload-reserved");
    assert_eq!(refused("café", "d"), "upload-name");
    assert_eq!(refused("s", "a <system> b"), "upload-xml");
    assert_eq!(refused("s", &"d".repeat(1025)), "upload-description");
    assert!(load_files(&[("SKILL.md", &with(""))], Profile::Upload).is_valid());
}

#[test]
fn links_to_files_that_are_not_there_are_reported() {
    let text = format!(
        "{}See [a](references/a.md), [b](./b.md), [c](https://x/y.md), [d](#d).\n",
        with("")
    );
    let loaded = load_files(&[("SKILL.md", &text), ("b.md", "")], Profile::Lenient);
    assert_snapshot!(render_diagnostics(&loaded), @"
    loads
    Note missing-reference SKILL.md 7:9: `references/a.md` is linked to, but is not in the skill
    ");
}

/// Pieces that make sound and unsound frontmatters when strung together.
fn frontmatter() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("name: s\n"),
        Just("name: t\n"),
        Just("name: S-\n"),
        Just("description: d\n"),
        Just("description: a: b\n"),
        Just("description: | x\n"),
        Just("description: |\n  x\n"),
        Just("description:\n"),
        Just("license: MIT\n"),
        Just("compatibility: [a]\n"),
        Just("compatibility: a\n"),
        Just("metadata: {a: b}\n"),
        Just("metadata:\n  a: b\n"),
        Just("metadata:\n  a: b\n  a: c\n"),
        Just("x: &a b\n"),
        Just("x: !t b\n"),
        Just("x: 1\n"),
        Just("\tx: 1\n"),
        Just("- x\n"),
        Just("x\n"),
        Just("# c\n"),
        Just("\n"),
        Just("  y: z\n"),
        Just("'q': \"\\x\"\n"),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_strict_profile_is_the_references_verdict(yaml in frontmatter()) {
        let text = format!("---\n{yaml}---\nbody\n");
        let strict = load_files(&[("SKILL.md", &text)], Profile::Strict);
        let reference = reference::validate(SourceText::new(&text), "s", &BundleLimits::default());
        prop_assert_eq!(strict.is_valid(), reference.is_empty(), "{}\n{:?}", render_diagnostics(&strict), reference);
    }

    #[test]
    fn no_text_makes_loading_panic(text in "(---\n)?[ -~\n\t'\"{}\\[\\]|>&*!%@`:#é\u{feff}-]{0,200}(\n---\n)?.{0,20}") {
        let _ = render_diagnostics(&load(&text));
        let _ = render_diagnostics(&load_files(&[("SKILL.md", &text)], Profile::Strict));
    }

    #[test]
    fn no_bytes_make_loading_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bundle = Bundle::from_skill_md(bytes, &BundleLimits::default()).unwrap();
        let _ = render_diagnostics(&Skill::load(bundle, &LoadOptions::default()));
    }
}
