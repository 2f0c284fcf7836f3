//! `prowess audit`: reads the audit log, of the store itself or with `--server` of a server.

use anyhow::Context;
use comfy_table::{Table, presets};
use prowess_server::audit_event_json;
use prowess_store::{
    AuditFilter, PagePosition, PageRequest, Store, TenantId, Timestamp, UsageQuery,
};
use serde_json::Value;

use super::client::{RemoteArgs, block_on};
use super::config_args::ConfigArgs;
use super::{Exit, output, store_args, usage_error};

/// Entries that are read at once.
const PAGE_ENTRIES: u32 = 500;

/// Read the audit log.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only entries from this time on: 7d, 24h, 2026-11-01 or 2026-11-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = store_args::parse_time)]
    since: Option<String>,
    /// Only entries before this time
    #[arg(long, value_name = "TIME", value_parser = store_args::parse_time)]
    until: Option<String>,
    /// Only what this actor did: the id or name of a key, or master, loopback or cli
    #[arg(long)]
    actor: Option<String>,
    /// Only this action, or all of a kind of object: key.update, key
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to this object, by its id
    #[arg(long, value_name = "ID")]
    object: Option<String>,
    /// Only this tenant
    #[arg(long, value_parser = store_args::parse_tenant)]
    tenant: Option<TenantId>,
    /// How many entries, newest first; with --json, 0 means all
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// The server's URL; without it, the log of the local store
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// With --server: an API key with the scope admin, or the master key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    #[command(flatten)]
    place: ConfigArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.limit == 0 && !args.json {
        return Err(usage_error(
            "--limit 0 needs --json: all entries are printed as JSON only",
        ));
    }
    let mut printer = Printer::new(args);
    block_on(async {
        match args.server.clone().filter(|url| !url.is_empty()) {
            Some(url) => print_remote(args, url, &mut printer).await,
            None => print_local(args, &mut printer).await,
        }
    })?;
    printer.finish()?;
    Ok(Exit::Ok)
}

async fn print_remote(args: &Args, url: String, printer: &mut Printer) -> anyhow::Result<()> {
    let client = RemoteArgs::new(Some(url), args.api_key.clone()).connect()?;
    let tenant = args.tenant.as_ref().map(TenantId::to_string);
    let filter = [
        ("since", &args.since),
        ("until", &args.until),
        ("actor", &args.actor),
        ("action", &args.action),
        ("object", &args.object),
        ("tenant", &tenant),
    ];
    let filter = filter.into_iter();
    let filter: Vec<(&str, &str)> = filter
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .collect();
    let mut lines = client.audit_lines(&filter).await?;
    while printer.wants_more()
        && let Some(line) = lines.next().await?
    {
        if line.is_empty() {
            continue;
        }
        let entry: Value = serde_json::from_slice(&line).context("the server sent no JSON")?;
        printer.print(entry)?;
    }
    Ok(())
}

async fn print_local(args: &Args, printer: &mut Printer) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let time = |text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| UsageQuery::parse_since(text, now))
            .transpose()
    };
    let filter = AuditFilter {
        tenant: args.tenant.as_ref(),
        since: time(&args.since)?,
        until: time(&args.until)?,
        actor: args.actor.as_deref(),
        action: args.action.as_deref(),
        object: args.object.as_deref(),
    };
    let config = args.place.load(None)?;
    let store = Store::open(&config.store)
        .await
        .context("cannot open the store")?;
    let mut request = PageRequest {
        limit: PAGE_ENTRIES,
        ..PageRequest::default()
    };
    while printer.wants_more() {
        let page = store.audit_events(&filter, &request).await?;
        for event in &page.items {
            if printer.wants_more() {
                printer.print(audit_event_json(event))?;
            }
        }
        match page.next {
            Some(cursor) => request.from = PagePosition::After(cursor),
            None => break,
        }
    }
    store.close().await;
    Ok(())
}

/// Prints entries as they arrive, or all in one table at the end.
struct Printer {
    as_json: bool,
    limit: usize,
    printed: usize,
    table: Table,
}

impl Printer {
    fn new(args: &Args) -> Printer {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "TIME", "TENANT", "ACTOR", "ACTION", "OBJECT", "OUTCOME", "FROM",
        ]);
        let limit = if args.limit == 0 {
            usize::MAX
        } else {
            args.limit
        };
        Printer {
            as_json: args.json,
            limit,
            printed: 0,
            table,
        }
    }

    fn wants_more(&self) -> bool {
        self.printed < self.limit
    }

    fn print(&mut self, entry: Value) -> anyhow::Result<()> {
        self.printed += 1;
        if self.as_json {
            return output::print_json_lines(&format!("{entry}\n"));
        }
        let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
        let actor = text("/actor/name").or(text("/actor/type"));
        let outcome = text("/error_code").or(text("/outcome"));
        let cells = [
            text("/at"),
            text("/tenant"),
            actor,
            text("/action"),
            text("/object"),
            outcome,
            text("/peer"),
        ];
        let shown = |cell: Option<&str>| output::strip_controls(cell.unwrap_or("-"), true);
        self.table.add_row(cells.map(shown));
        Ok(())
    }

    fn finish(&self) -> anyhow::Result<()> {
        if self.as_json {
            return Ok(());
        }
        if self.printed > 0 {
            output::print_text(&format!("{}\n", self.table.trim_fmt()))?;
        }
        let noun = if self.printed == 1 {
            "entry"
        } else {
            "entries"
        };
        output::print_remark(&format!("{} {noun}", self.printed));
        Ok(())
    }
}
