//! Moving money. Not bad in itself, but something a person wants to know.

use crate::scan::finding::{Confidence, ScanSeverity};
use crate::scan::pattern::Pattern;
use crate::scan::rule::ScanRule;

pub(crate) static FIN: ScanRule = ScanRule {
    id: "FIN",
    title: "Can move money",
    description: "The skill makes payments, trades, or signs transactions. It may be meant to; \
                  whoever gives it credentials should know.",
    severity: ScanSeverity::Info,
    help: "Give it credentials with a limit, and have a person approve every transaction.",
    hostile: false,
};

pub(crate) const PATTERNS: &[Pattern] = &[
    Pattern::new(
        &FIN,
        "Calls an API that moves money",
        &["paymentintent", "payment_intents", "charges.create", "payouts", "transfers.create", "sendtransaction", "send_transaction", "place_order", "create_order", "createorder", "sendrawtransaction", "signtransaction"],
        r"\bstripe\.(?:PaymentIntent|paymentIntents|charges?|Charge|payouts?|Payout|transfers?|Transfer)\.create\b|\b(?:eth_)?send(?:Raw)?Transaction\b|\bsend_(?:raw_)?transaction\(|\b(?:place|create)_(?:market_|limit_)?order\(|\bcreateOrder\(|\bsignTransaction\(",
    )
    .weight(ScanSeverity::Info, Confidence::High)
    .example("a.py", "stripe.PaymentIntent.create(amount=1)"),
    Pattern::new(
        &FIN,
        "Mentions moving money",
        &["transfer", "send", "withdraw", "buy", "sell"],
        r"\b(?:transfer|send|withdraw)\s+(?:\w+\s+){0,2}(?:funds|money|payments?|crypto|bitcoin|usdc|eth|sol|tokens\s+to\s+(?:a|an|the|another)\s+(?:wallet|address))\b|\b(?:buy|sell|swap)\s+(?:\w+\s+){0,2}(?:tokens|crypto|bitcoin|stocks|shares|coins)\b",
    )
    .weight(ScanSeverity::Info, Confidence::Medium)
    .example("SKILL.md", "Transfer the funds to the seller."),
];
