//! Every quoted figure, and the cell of `bench/results/` that it comes from.

use Source::{Least, Most, One, OverLeast, OverMost};

/// A cell: file, table, row and column.
#[derive(Clone, Copy)]
pub(crate) struct Place(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
);

/// Where a figure comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// The only number of a cell.
    One(Place),
    /// The smallest and the largest of a cell's runs.
    Least(Place),
    Most(Place),
    /// The first as a multiple of the second: of its largest number, or of its smallest.
    OverMost(Place, Place),
    OverLeast(Place, Place),
}

const LITELLM: &str = "LiteLLM 1.106.2";
const PASS_1: Place = Place("gateway", "cpu", "a request, 1 connection", "prowess");
const PASS_1_LITELLM: Place = Place("gateway", "cpu", "a request, 1 connection", LITELLM);
const PASS_16: Place = Place("gateway", "cpu", "a request, 16 connections", "prowess");
const PASS_16_NGINX: Place = Place("gateway", "cpu", "a request, 16 connections", "nginx");
const PASS_16_LITELLM: Place = Place("gateway", "cpu", "a request, 16 connections", LITELLM);
const PASS_16_RATIO: Place = Place(
    "gateway",
    "pass-through",
    "CPU of a request, 16 connections",
    "ratio",
);
const EVENT_ROW: &str = "an event, 16 streams, 1 ms apart";
const EVENT: Place = Place("gateway", "cpu", EVENT_ROW, "prowess");
const EVENT_LITELLM: Place = Place("gateway", "cpu", EVENT_ROW, LITELLM);
const IDLE: Place = Place("gateway", "memory", "idle memory, MB", "prowess");
const IDLE_LATER: Place = Place("gateway-2026-11-16", "memory", "idle memory, MB", "prowess");
const IDLE_LITELLM: Place = Place("gateway", "memory", "idle memory, MB", LITELLM);
const PREPARE_ROW: &str = "resolve, disclose, create tools";
const PREPARE: Place = Place("skills", "before-the-model", PREPARE_ROW, "prowess");
const PREPARE_LITELLM: Place = Place("skills", "before-the-model", PREPARE_ROW, "LiteLLM's hook");
const PREPARE_RATIO: Place = Place("skills", "before-the-model", PREPARE_ROW, "ratio");
const PREPARE_RATIOS: Place = Place("skills-six-runs", "ratio", PREPARE_ROW, "ratio");
const UNCACHED_ROW: &str = "the same, latest versions looked up each time";
const UNCACHED: Place = Place("skills", "before-the-model", UNCACHED_ROW, "prowess");
const UNCACHED_LITELLM: Place = Place("skills", "before-the-model", UNCACHED_ROW, "LiteLLM's hook");
const UNCACHED_RATIO: Place = Place("skills", "before-the-model", UNCACHED_ROW, "ratio");
const FOUND: Place = Place("routing", "recall-sqlite-10000", "all", "R@5");
const QUERIES: Place = Place("routing", "recall-sqlite-10000", "all", "queries");
const SEARCH: Place = Place("routing", "searches", "SQLite, 10000", "p50");
const SEARCH_LARGE: Place = Place("routing", "searches", "SQLite, 69000", "p50");
const POOL: Place = sandbox("pool: first command of a new container");
const DOCKER: Place = sandbox("docker exec, warm container");
const COLD: Place = sandbox("cold: all sandbox layers new");
const BUBBLEWRAP: Place = sandbox("bwrap, same mounts");
const RUNC: Place = sandbox("runc run");
const BARE: Place = sandbox("bare python3 -c pass");
const FIND: &str = "find and read all";
const LLM_TOOLS: &str = "llm-tools-skills 0.3.0";
const VALIDATE: &str = "SKILL.md alone";

const OPERATIONS: &str = "docs/operations.md";
const OPEN_ROW: &str = "with 2,000 streams open, MB";
const STREAMS: Place = Place("gateway", "memory", OPEN_ROW, "prowess");
const STREAMS_LATER: Place = Place("gateway-2026-11-16", "memory", OPEN_ROW, "prowess");
const BODIES: Place = Place(
    "gateway-load",
    "memory",
    "bodies of 10 MB, 8 at once",
    "peak or steady memory",
);
const TRANSLATED: Place = Place("gateway", "translation", "a request, 1 connection", "ratio");
const TRANSLATED_LATER: Place = Place(
    "gateway-2026-11-16",
    "translation",
    "a request, 16 connections",
    "ratio",
);

const fn uploads(table: &'static str) -> Place {
    Place("routing-uploads", table, "prowess", "uploads a second")
}

const fn sandbox(row: &'static str) -> Place {
    Place("sandbox", "times", row, "median ms")
}

const fn discover(table: &'static str, column: &'static str) -> Place {
    Place("discover", table, FIND, column)
}

const fn validate(column: &'static str) -> Place {
    Place("validate", "times", VALIDATE, column)
}

/// A document, a text that it contains, and the sources of its figures from left to right.
pub(crate) struct Quote(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static [Source],
);

/// Figures are compared after rounding to as many digits as the text has.
pub(crate) const QUOTES: &[Quote] = &[
    Quote(
        "README.md",
        "28,289 µs, 329.6 MB",
        &[One(PASS_1_LITELLM), One(IDLE_LITELLM)],
    ),
    Quote(
        "README.md",
        "38.5 to 53.3 µs, 21 to 26 MB",
        &[Least(PASS_1), Most(PASS_1), Least(IDLE), Most(IDLE_LATER)],
    ),
    Quote("README.md", "74.5 ms", &[One(PREPARE_LITELLM)]),
    Quote("README.md", "0.11 ms", &[One(PREPARE)]),
    Quote(
        "README.md",
        "for 86.9 % of 1,276 queries",
        &[One(FOUND), One(QUERIES)],
    ),
    Quote("README.md", "a search takes 3.5 ms", &[One(SEARCH)]),
    Quote("README.md", "5.2 ms", &[One(POOL)]),
    Quote("README.md", "103 ms", &[One(DOCKER)]),
    Quote(
        "COMPARE.md",
        "| 38.5 to 53.3 µs | LiteLLM 28,289 µs | 531 to 735 × |",
        &[
            Least(PASS_1),
            Most(PASS_1),
            One(PASS_1_LITELLM),
            OverMost(PASS_1_LITELLM, PASS_1),
            OverLeast(PASS_1_LITELLM, PASS_1),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 28.3 to 34.5 µs | LiteLLM 17,182 µs | 498 to 607 × |",
        &[
            Least(PASS_16),
            Most(PASS_16),
            One(PASS_16_LITELLM),
            OverMost(PASS_16_LITELLM, PASS_16),
            OverLeast(PASS_16_LITELLM, PASS_16),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 28.3 to 34.5 µs | nginx 14.8 to 20.4 µs | nginx is 1.7 to 1.9 × cheaper |",
        &[
            Least(PASS_16),
            Most(PASS_16),
            Least(PASS_16_NGINX),
            Most(PASS_16_NGINX),
            Least(PASS_16_RATIO),
            Most(PASS_16_RATIO),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 11.8 to 14.3 µs | LiteLLM 112 µs | 7.8 to 9.5 × |",
        &[
            Least(EVENT),
            Most(EVENT),
            One(EVENT_LITELLM),
            OverMost(EVENT_LITELLM, EVENT),
            OverLeast(EVENT_LITELLM, EVENT),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 21.2 to 22.4 MB; 25 to 26 MB since",
        &[Least(IDLE), Most(IDLE), Least(IDLE_LATER), Most(IDLE_LATER)],
    ),
    Quote(
        "COMPARE.md",
        "| LiteLLM 329.6 MB | 13 to 16 × |",
        &[
            One(IDLE_LITELLM),
            OverMost(IDLE_LITELLM, IDLE_LATER),
            OverLeast(IDLE_LITELLM, IDLE),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 0.112 ms | LiteLLM's hook 74.491 ms | 664 ×; 419 to 664 ×",
        &[
            One(PREPARE),
            One(PREPARE_LITELLM),
            One(PREPARE_RATIO),
            Least(PREPARE_RATIOS),
            Most(PREPARE_RATIOS),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 0.262 ms | LiteLLM's hook 74.491 ms | 284 × |",
        &[One(UNCACHED), One(UNCACHED_LITELLM), One(UNCACHED_RATIO)],
    ),
    Quote(
        "COMPARE.md",
        "| 5.24 ms | `docker exec` in a running container 102.90 ms | 20 × |",
        &[One(POOL), One(DOCKER), OverMost(DOCKER, POOL)],
    ),
    Quote(
        "COMPARE.md",
        "| 18.03 ms | bubblewrap 20.92 ms, runc 53.81 ms, no sandbox 16.39 ms | 1.2 ×, 3.0 ×, 0.9 × |",
        &[
            One(COLD),
            One(BUBBLEWRAP),
            One(RUNC),
            One(BARE),
            OverMost(BUBBLEWRAP, COLD),
            OverMost(RUNC, COLD),
            OverMost(BARE, COLD),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 506 ms | llm-tools-skills 3,696 ms | 7.3 × |",
        &[
            One(discover("llm-tools-skills", "prowess")),
            One(discover("llm-tools-skills", LLM_TOOLS)),
            One(discover("llm-tools-skills", "ratio")),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 527 ms | loomflow 1,811 ms | 3.4 × |",
        &[
            One(discover("loomflow", "prowess")),
            One(discover("loomflow", "loomflow 0.20.0")),
            One(discover("loomflow", "ratio")),
        ],
    ),
    Quote(
        "COMPARE.md",
        "| 21.1 ms | skills-ref",
        &[One(validate("prowess"))],
    ),
    Quote(
        "COMPARE.md",
        " 5,126 ms | 243 × |",
        &[One(validate("skills-ref 0.1.1")), One(validate("ratio"))],
    ),
    Quote(
        OPERATIONS,
        "| memory, idle | 21 to 26 MB |",
        &[Least(IDLE), Most(IDLE_LATER)],
    ),
    Quote(
        OPERATIONS,
        "| 112 to 152 MB |",
        &[Least(STREAMS), Most(STREAMS_LATER)],
    ),
    Quote(OPERATIONS, "| 286 MB |", &[One(BODIES)]),
    Quote(
        OPERATIONS,
        "| 28 to 53 µs |",
        &[Least(PASS_16), Most(PASS_1)],
    ),
    Quote(
        OPERATIONS,
        "| 1.3 to 1.8 times that |",
        &[Least(TRANSLATED), Most(TRANSLATED_LATER)],
    ),
    Quote(
        OPERATIONS,
        "| 3.3 to 4.1 ms |",
        &[
            One(Place(
                "skills",
                "runs",
                "bash, existing container",
                "run, CPU",
            )),
            One(Place("skills", "runs", "bash, new container", "run, CPU")),
        ],
    ),
    Quote(
        OPERATIONS,
        "235 a second into SQLite, 128 into PostgreSQL |",
        &[
            One(uploads("uploads-sqlite")),
            One(uploads("uploads-postgresql")),
        ],
    ),
    Quote(
        OPERATIONS,
        "| 3.5 ms, and 9.4 ms |",
        &[One(SEARCH), One(SEARCH_LARGE)],
    ),
];
