//! Skills of our own making, good and bad, for the comparison with the
//! reference validator. Each is a folder's name and the text of its SKILL.md.

/// One skill: its folder and its SKILL.md.
pub(crate) struct Case {
    pub(crate) folder: String,
    pub(crate) file: &'static str,
    pub(crate) text: String,
}

fn case(folder: &str, text: impl Into<String>) -> Case {
    Case {
        folder: folder.to_owned(),
        file: "SKILL.md",
        text: text.into(),
    }
}

/// Everything that must come out byte for byte.
pub(crate) fn equal() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(yaml());
    cases.extend(names());
    cases.extend(descriptions());
    cases.extend(fields());
    cases.extend(files());
    cases.extend(combined());
    cases
}

/// Defects of the reference that are not copied, with the reason.
pub(crate) fn different() -> Vec<(&'static str, Case)> {
    vec![
        (
            "a `---` inside a value does not end the frontmatter",
            case("s", "---\nname: s\ndescription: a --- b\n---\nbody\n"),
        ),
        (
            "a `---` inside a block does not end the frontmatter",
            case(
                "s",
                "---\nname: s\ndescription: |\n  a\n  ---\n  b\n---\nbody\n",
            ),
        ),
        (
            "a byte-order mark is no text",
            case("s", "\u{feff}---\nname: s\ndescription: d\n---\n"),
        ),
        (
            "a control character is an error, not a crash",
            case("s", "---\nname: s\ndescription: a\u{7}b\n---\n"),
        ),
        (
            "a list as a key is an error, not a crash",
            case("s", "---\nname: s\ndescription: d\n? - a\n: b\n---\n"),
        ),
    ]
}

/// A frontmatter with a good name and description around some YAML.
fn around(yaml: &str) -> Case {
    case(
        "s",
        format!("---\nname: s\ndescription: d\n{yaml}\n---\nbody\n"),
    )
}

/// YAML that the reference reads or refuses, alone and among good fields.
fn yaml() -> Vec<Case> {
    let snippets = [
        "a: b: c",
        "a: | Use\n  x",
        "a: |Use",
        "a: > Use when",
        "a: >0\n x",
        "a: |2x",
        "a: |+-",
        "a: |# c\n  x",
        "a: | # c\n  x",
        "foo\nbar: x",
        "a: b\nfoo\nbar: c",
        "a: b\nfoo",
        "a: b\n\nc\n\nd: e",
        "a: - b",
        "a: -b",
        "\ta: b",
        "a:\n\tb: c",
        "a: b\tc",
        "a: b\t",
        "a:\tb",
        "a: 'b'\t",
        "a: 'b\tc'",
        "a: b\n\tc: d",
        "a: b\n  \tc",
        "- a\n-\tb",
        "a: |\n  x\n\ty",
        "a: |\n  x\ty",
        "a: b # c\td",
        "a: @x",
        "a: `x`",
        "a: %x",
        "a: %",
        "@a: b",
        "`a: b",
        "a: * x",
        "a: *x",
        "a: *x y",
        "a: **x**: y",
        "a: **bold**",
        "*x : b",
        "a: &",
        "a: &x y",
        "a: &x\nb: *x",
        "&x a: b",
        "a: 'x",
        "a: \"x",
        "a: 'x\n  y\nb: c",
        "a: 'x\n  y'\nb: c",
        "a: \"x\ny\"",
        "a: \"x\n\n  y\"",
        "a: \"b\\\n  c\"",
        "a: \"x\" y",
        "a: 'x' y",
        "a: 'it's'",
        "a: 'it''s'",
        "a: 'x'y: z",
        "a: \"b\"\"c\"",
        "a: \"b\": c",
        "a: 'b':c",
        "a: 'x' [y]",
        "a: \"b\" # c",
        "a: \"b\"# c",
        "a: 'b'\n  c",
        "a: \"\\d\"",
        "a: \"\\xzz\"",
        "a: \"\\u12\"",
        "a: \"\\t\\u00e9\"",
        "\"a\": b\n\"c",
        "\"c\": \"d\" e",
        "a: b\n- c",
        "a:\n- b\nc: d\n- e",
        "a:\n- b\n- c",
        "a:\n  - b\n  - c",
        "a:\n  - b\n - c",
        "a:\n - b\n  - c",
        "a:\n- b\n-c",
        "a: b\n c: d",
        "a:\n  b: c\n d: e",
        "a:\n  b: c\n  d: e",
        "a:\n  b: c\nd:\n    e: f",
        "a:\n  b:\n    c: d\n  e: f",
        "a: {b: c}",
        "a: {b: c",
        "a: [b]",
        "a: [b",
        "a: [b]]",
        "a: [x]: y",
        "a: [1,\n2]",
        "a: {b: [1, }",
        "a: {\"x\": {\"y\": 1}}",
        "a: }",
        "a: ]",
        "a: ,x",
        "a: !x y",
        "a: !!str y",
        "a: !",
        "a: ! b",
        "a: !<x> b",
        "a: !<x b",
        "? a\n: b",
        "? a",
        "a: ? b",
        ": b",
        "a: b\n: c",
        "a: b #c",
        "a: b#c",
        "a: #c",
        "# comment\na: b\n  # more",
        "a: b\n...\nc: d",
        "a: b\n  c\n d\ne: f",
        "a: b\n\n  c",
        "a: |\n x\n  y\n z\nb: c",
        "a: |\n   x\n y\nb: c",
        "a: >\nb: c",
        "a: >-\n\n  x\n\n  y\nb: c",
        "a: >\n  b\n   c\n\n  d",
        "a: |-\n  b\n\n\n",
        "a: |+\n  b\n\n",
        "a:b",
        "a: x:\n  b: c",
        "a: b:",
        "a: b :c",
        "a: http://x:80/",
        "a : b",
        "a  :  b",
        "<<: b",
        "a: b\na: c",
        "m:\n  a: b\n  a: c",
        "a: ~",
        "a: null\nb: true\nc: 1.0\nd: 017",
        "a: ''",
        "a:",
        "'a': b",
        "a: é: ü",
        "é: {x",
        "a: 😀 b: c",
        "a: vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv: wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
        "a: xx: wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
    ];
    let alone = snippets
        .iter()
        .map(|yaml| case("s", format!("---\n{yaml}\n---\n")));
    let among = snippets.iter().map(|yaml| around(yaml));
    let first = snippets
        .iter()
        .map(|yaml| case("s", format!("---\n{yaml}\nname: s\ndescription: d\n---\n")));
    alone.chain(among).chain(first).collect()
}

fn names() -> Vec<Case> {
    let long = "a".repeat(64);
    let longer = "a".repeat(65);
    let pairs = [
        ("s", "s"),
        ("pdf-reader", "pdf-reader"),
        ("s", "t"),
        ("s", "S"),
        ("S", "S"),
        ("s", "s_t"),
        ("s", "s t"),
        ("s", "-s"),
        ("s", "s-"),
        ("s", "-"),
        ("s", "s--t"),
        ("s", "s.t"),
        ("s", "s/t"),
        ("s", "../s"),
        ("123", "123"),
        ("技能", "技能"),
        ("мой-навык", "мой-навык"),
        ("Мой", "Мой"),
        ("مهارة", "مهارة"),
        ("café", "café"),
        ("cafe\u{301}", "café"),
        ("हिन्दी", "हिन्दी"),
        ("foo", "ｆｏｏ"),
        ("x2", "x²"),
        ("ß", "ß"),
        ("ǆ", "ǅ"),
        ("s", "''"),
        ("s", "' '"),
        ("s", "' s '"),
        ("s", "s # comment"),
        ("s", "true"),
        ("s", "claude-x"),
        ("s", "<b>"),
        ("s", "\"a'b\""),
        (&long, &long),
        (&longer, &longer),
    ];
    let good = pairs
        .iter()
        .map(|(folder, name)| case(folder, format!("---\nname: {name}\ndescription: d\n---\n")));
    let odd = [
        "name:",
        "name:\n  - s",
        "name:\n  a: b",
        "name: |\n  s",
        "name: >\n  s\n  t",
        "",
    ]
    .map(|name| case("s", format!("---\n{name}\ndescription: d\n---\n")));
    good.chain(odd).collect()
}

fn descriptions() -> Vec<Case> {
    let full = "d".repeat(1024);
    let over = "d".repeat(1025);
    let wide = "é".repeat(1024);
    let wider = "😀".repeat(1025);
    let padded = format!("\"{} \"", "d".repeat(1024));
    let values = [
        "d",
        "",
        "''",
        "'  '",
        "\"\\n\"",
        "true",
        "use <b> & \"q\" 'x'",
        "'use <b> & \"q\" ''x'''",
        "a \\ b",
        "tab\\there",
        "ünïcödé 技能 😀",
        "\n  - a",
        "\n  a: b",
        "|\n  one\n  two\n",
        ">-\n  one\n  two\n\n  three",
        "\"  padded  \"",
        &full,
        &over,
        &wide,
        &wider,
        &padded,
    ];
    let cases = values
        .iter()
        .map(|text| case("s", format!("---\nname: s\ndescription: {text}\n---\n")));
    cases.chain([case("s", "---\nname: s\n---\n")]).collect()
}

fn fields() -> Vec<Case> {
    let most = format!("compatibility: {}", "c".repeat(500));
    let more = format!("compatibility: {}", "c".repeat(501));
    let fields = [
        "license: MIT",
        "license:",
        "license:\n  - MIT",
        "compatibility: needs git",
        "compatibility:",
        "compatibility: ''",
        "compatibility:\n  - git",
        &most,
        &more,
        "allowed-tools: Read Bash(git:*)",
        "allowed-tools: Read, Bash(git:*)",
        "allowed-tools:\n  - Read\n  - Bash(git diff *)",
        "allowed-tools:\n  a: b",
        "allowed-tools:",
        "metadata:\n  author: me\n  version: \"1.0\"",
        "metadata:\n  version: 1.0\n  x: true\n  y:",
        "metadata:\n  a:\n    b: c",
        "metadata:\n  a:\n    - b\n    - 'c''d'",
        "metadata:\n  a:\n    b:\n      - \"q'\"\n      - \"\\n\"\n      - \"é\\u200b\"",
        "metadata:\n  é: ü",
        "metadata:",
        "metadata: text",
        "metadata:\n  - a",
        "version: 1.0",
        "zeta: 1\nalpha: 2",
        "Name: x",
        "tools:\n  a:\n    script: b",
        "'é': x",
        "license: \"a\\u0007b\"",
    ];
    fields.iter().map(|field| around(field)).collect()
}

fn files() -> Vec<Case> {
    let texts = [
        "",
        "\n",
        "x",
        "# Title\n",
        "---",
        "---\n",
        "---\n---",
        "---\n---\n",
        "---\n\n---\n",
        "---\n# c\n---\n",
        "---\ntext\n---\n",
        "---\n- a\n---\n",
        "---\n123\n---\n",
        "\n---\nname: s\ndescription: d\n---\n",
        " ---\nname: s\ndescription: d\n---\n",
        "----\nname: s\ndescription: d\n---\n",
        "---name: s\ndescription: d\n---\n",
        "--- \nname: s\ndescription: d\n---  \nbody",
        "---\nname: s\ndescription: d\n---body",
        "---\nname: s\ndescription: d\n----\nbody",
        "---\nname: s\ndescription: d\n",
        "---\nname: s\ndescription: d\n...\n",
        "---\r\nname: s\r\ndescription: d\r\n---\r\nbody\r\n",
        "---\rname: s\rdescription: d\r---\r",
        "---\r\nname: s\r\ndescription: a: b\r\n---\r\n",
        "---\nname: s\ndescription: d\n---\n\n---\n\nmore\n---\n",
    ];
    let mut cases: Vec<Case> = texts.iter().map(|text| case("s", *text)).collect();
    cases.push(Case {
        file: "skill.md",
        ..case("s", "---\nname: s\ndescription: d\n---\n")
    });
    cases.push(Case {
        file: "Skill.md",
        ..case("s", "---\nname: s\ndescription: d\n---\n")
    });
    cases.push(Case {
        file: "README.md",
        ..case("s", "---\nname: s\ndescription: d\n---\n")
    });
    cases
}

/// Several things wrong at once: the order of the messages counts.
fn combined() -> Vec<Case> {
    let long = "D".repeat(1100);
    vec![
        case("x", "---\nName: s\n---\n"),
        case(
            "x",
            format!(
                "---\nname: -Bad--Name_-\ndescription: {long}\ncompatibility:\n  - a\nextra: 1\n---\n"
            ),
        ),
        case("x", "---\nname:\ndescription:\ncompatibility:\n---\n"),
        case(
            "x",
            format!("---\nname: {}\ndescription: ''\n---\n", "A-".repeat(40)),
        ),
    ]
}
