//! A compiler from rules per system call to a seccomp program.
//!
//! When a filter is installed the kernel runs it once for every call number there is. A
//! chain of comparisons makes that cost a millisecond, as much as all other layers
//! together; the search tree built here costs a few microseconds.

use crate::seccomp::argument_check::ArgumentCheck;
use crate::seccomp::rules::SyscallRule;
use libc::sock_filter;
use std::collections::BTreeMap;

// Operations, as <linux/bpf_common.h> has them.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

// Verdicts, as <linux/seccomp.h> has them.
const KILL: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7FFF_0000;
const ERRNO: u32 = 0x0005_0000;

// Offsets into `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Compiles rules for one architecture. Calls without a rule fail with `denied`, calls
/// of other architectures kill.
pub(crate) fn compile(
    architecture: u32,
    rules: &BTreeMap<u32, SyscallRule>,
    denied: i32,
) -> Vec<sock_filter> {
    let mut program = vec![
        statement(LOAD, ARCHITECTURE),
        jump(JUMP_IF_EQUAL, architecture, 1, 0),
        statement(RETURN, KILL),
        statement(LOAD, NUMBER),
    ];
    tree(
        &ranges(rules, SyscallRule::Fail(denied)),
        denied,
        &mut program,
    );
    program
}

/// The first number of each run of calls with the same rule.
fn ranges(rules: &BTreeMap<u32, SyscallRule>, otherwise: SyscallRule) -> Vec<(u32, SyscallRule)> {
    let mut ranges = vec![(0, otherwise)];
    let mut add = |start, rule| match ranges.last_mut() {
        Some((_, last)) if *last == rule => {}
        Some((first, last)) if *first == start => *last = rule,
        _ => ranges.push((start, rule)),
    };
    for (number, rule) in rules {
        add(*number, *rule);
        if !rules.contains_key(&(number + 1)) {
            add(number + 1, otherwise);
        }
    }
    ranges
}

/// Appends a search for the range that holds the number.
fn tree(ranges: &[(u32, SyscallRule)], denied: i32, program: &mut Vec<sock_filter>) {
    let (low, high) = ranges.split_at(ranges.len() / 2);
    match (low, high) {
        ([], [(_, rule)]) => leaf(*rule, denied, program),
        (_, [(start, _), ..]) => {
            let mut left = Vec::new();
            tree(low, denied, &mut left);
            // Conditional jumps reach 255 steps only, so a plain one does the distance.
            program.push(jump(JUMP_IF_AT_LEAST, *start, 0, 1));
            program.push(statement(
                JUMP,
                u32::try_from(left.len()).unwrap_or(u32::MAX),
            ));
            program.append(&mut left);
            tree(high, denied, program);
        }
        (_, []) => {}
    }
}

fn leaf(rule: SyscallRule, denied: i32, program: &mut Vec<sock_filter>) {
    let fail = |error: i32| statement(RETURN, ERRNO | error.cast_unsigned());
    match rule {
        SyscallRule::Allow => program.push(statement(RETURN, ALLOW)),
        SyscallRule::Fail(error) => program.push(fail(error)),
        SyscallRule::Check(check) => {
            program.append(&mut allow_if(&[check]));
            program.push(fail(denied));
        }
        SyscallRule::AnyOf(groups) => {
            for group in groups {
                program.append(&mut allow_if(group));
            }
            program.push(fail(denied));
        }
    }
}

/// Allows the call if all checks fit; otherwise it ends behind itself.
fn allow_if(checks: &[ArgumentCheck]) -> Vec<sock_filter> {
    // From the last check to the first: one that does not fit jumps over all that follow.
    let mut program = vec![statement(RETURN, ALLOW)];
    for check in checks.iter().rev() {
        let mut first = vec![
            statement(LOAD, ARGUMENTS + 8 * u32::from(check.argument)),
            statement(AND, check.mask),
        ];
        for (index, value) in check.values.iter().enumerate() {
            // Over the comparisons that are left and the jump behind them.
            let left = check.values.len() - index;
            let left = u8::try_from(left).unwrap_or(u8::MAX);
            first.push(jump(JUMP_IF_EQUAL, *value, left, 0));
        }
        let rest = u32::try_from(program.len()).unwrap_or(u32::MAX);
        first.push(statement(JUMP, rest));
        first.append(&mut program);
        program = first;
    }
    program
}

fn statement(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCH: u32 = 0xC000_003E;

    /// Runs a program as the kernel does and returns the verdict.
    fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let (mut at, mut value) = (0, 0u32);
        loop {
            let step = program[at];
            at += 1;
            match step.code {
                LOAD => {
                    value = match step.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        offset => arguments[(offset - ARGUMENTS) as usize / 8] as u32,
                    }
                }
                AND => value &= step.k,
                JUMP => at += step.k as usize,
                JUMP_IF_EQUAL => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                JUMP_IF_AT_LEAST => {
                    at += usize::from(if value >= step.k { step.jt } else { step.jf })
                }
                RETURN => return step.k,
                code => panic!("unknown operation {code}"),
            }
        }
    }

    #[test]
    fn every_number_finds_its_rule_and_no_other() {
        let check = ArgumentCheck {
            argument: 1,
            mask: 0xF0,
            values: &[0x10, 0x20],
        };
        let rules = BTreeMap::from([
            (0, SyscallRule::Allow),
            (1, SyscallRule::Allow),
            (3, SyscallRule::Check(check)),
            (4, SyscallRule::Allow),
            (7, SyscallRule::Fail(38)),
            (8, SyscallRule::Fail(1)),
            (452, SyscallRule::Allow),
        ]);
        let program = compile(ARCH, &rules, 1);
        for number in (0..600).chain([u32::MAX, 0x4000_0000, 0x4000_0001]) {
            let expected = match number {
                0 | 1 | 4 | 452 => ALLOW,
                7 => ERRNO | 38,
                _ => ERRNO | 1,
            };
            let arguments = [0, 0xFF, 0, 0, 0, 0];
            assert_eq!(run(&program, ARCH, number, arguments), expected, "{number}");
            assert_eq!(run(&program, 0x4000_0003, number, arguments), KILL);
        }
        for (argument, verdict) in [(0x10, ALLOW), (0x2F, ALLOW), (0x30, ERRNO | 1)] {
            let wide = argument | 0xFFFF_FFFF_0000_0000;
            assert_eq!(run(&program, ARCH, 3, [0, wide, 0, 0, 0, 0]), verdict);
        }
    }

    #[test]
    fn a_call_with_groups_of_checks_passes_if_all_of_one_group_fit() {
        const fn check(argument: u8, values: &'static [u32]) -> ArgumentCheck {
            ArgumentCheck {
                argument,
                mask: u32::MAX,
                values,
            }
        }
        const GROUPS: &[&[ArgumentCheck]] =
            &[&[check(1, &[0, 6])], &[check(1, &[1]), check(2, &[2, 9])]];
        let rules = BTreeMap::from([(5, SyscallRule::AnyOf(GROUPS))]);
        let program = compile(ARCH, &rules, 1);
        for (level, option, verdict) in [
            (0, 26, ALLOW),
            (6, 2, ALLOW),
            (1, 2, ALLOW),
            (1, 9, ALLOW),
            (1, 26, ERRNO | 1),
            (7, 2, ERRNO | 1),
        ] {
            for wide in [0, 0xFFFF_FFFF_0000_0000] {
                let arguments = [0, level | wide, option | wide, 0, 0, 0];
                assert_eq!(
                    run(&program, ARCH, 5, arguments),
                    verdict,
                    "{level} {option}"
                );
            }
        }
    }

    #[test]
    fn the_search_is_short() {
        let rules = (0..400)
            .filter(|n| n % 3 != 0)
            .map(|n| (n, SyscallRule::Allow))
            .collect();
        let program = compile(ARCH, &rules, 1);
        assert!(program.len() < 1200, "{}", program.len());
    }
}
