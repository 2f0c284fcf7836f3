//! Provisioned sandboxes: the same results as from a new one.

use crate::support::{OWNER, TestHost, TestSandbox, everyone, has_root, stderr, stdout};
use prowess_sandbox::{Command, ContainerSpec, Execution, Policy};
use serde_json::json;

/// Programs whose behaviour must not depend on whether the interpreter was warm.
const PROGRAMS: [&str; 9] = [
    "print(sorted(globals()), __name__)",
    "import sys; print(sys.argv, sys.path[0], sys.flags.interactive)",
    "import os; print(sorted(os.environ.items()), os.getcwd())",
    "import sys; sys.exit(7)",
    "import sys; print(sys.stdin.read()); sys.exit('to stderr')",
    "import atexit; atexit.register(print, 'at exit'); print('first')",
    "def f(): return 1 / 0\nf()",
    "this is no python",
    "import os, sys; print(sorted(os.listdir('/proc/self/fd'))); sys.stdout.flush(); os.abort()",
];

#[test]
fn a_waiting_interpreter_answers_as_a_new_one_does() {
    for who in everyone() {
        for program in PROGRAMS {
            let run = json!({
                "command": { "python": program }, "stdin": "said", "env": [["A", "b"]],
            });
            let reports = TestHost::new(who).run(json!({ "warm": 1, "runs": [run, run] }));
            let [cold, warm] = reports.as_slice() else {
                panic!("{reports:?}")
            };
            assert_eq!(cold["outcome"], warm["outcome"], "{who:?} {program}");
            assert_eq!(stdout(cold), stdout(warm), "{who:?} {program}");
            assert_eq!(stderr(cold), stderr(warm), "{who:?} {program}");
        }
    }
}

#[test]
fn a_command_that_is_not_python_dismisses_the_waiting_interpreter() {
    for who in everyone() {
        let run = json!({ "command": { "bash": "set -- /proc/[0-9]*; echo $#; pwd" } });
        let reports = TestHost::new(who).run(json!({ "warm": 1, "runs": [run, run] }));
        assert_eq!(stdout(&reports[1]), "1\n/mnt/data\n", "{who:?}");
    }
}

#[test]
fn files_and_skills_are_there_for_a_waiting_interpreter() {
    let program = "print(open('/skills/pdf/SKILL.md').read(), open('in').read()); open('out', 'a').write('x')";
    let run = json!({ "command": { "python": program } });
    for who in everyone() {
        let answer = TestHost::new(who).ask(json!({
            "warm": 1, "skills": [["pdf", [["SKILL.md", "skill", false]]]],
            "put": [["in", "file"]], "runs": [run, run], "keep": true,
        }));
        for report in answer["reports"].as_array().unwrap() {
            assert_eq!(stdout(report), "skill file\n", "{who:?} {}", stderr(report));
            assert_eq!(report["outputs"][0]["path"], json!("out"));
        }
        assert_eq!(answer["files"][1], json!({ "path": "out", "size": 2 }));
    }
}

#[tokio::test]
async fn a_spare_one_serves_the_first_command_of_a_new_container_and_no_other() {
    let one = TestSandbox::open(|settings| settings.warm = 2).await;
    one.sandbox.warm_up(&Policy::default());
    while one.sandbox.warm_count() == 0 {
        tokio::task::yield_now().await;
    }
    let id = one
        .sandbox
        .create(OWNER, ContainerSpec::default())
        .await
        .unwrap();
    let command = Command::Python("import sys; print('csv' in sys.modules)".into());
    let execution = Execution {
        command,
        ..Execution::default()
    };
    let report = one
        .sandbox
        .exec(OWNER, &id, execution.clone())
        .await
        .unwrap();
    assert_eq!(report.stdout.text, "True\n", "it had been waiting");
    if has_root() {
        // A sandbox provisioned for one container is not used for another.
        while one.sandbox.warm_count() == 0 {
            tokio::task::yield_now().await;
        }
        let other = one.another().await;
        let report = other.exec(execution).await.unwrap();
        assert_eq!(report.stdout.text, "False\n");
    }
}

#[test]
fn what_a_program_leaves_open_is_written_all_the_same() {
    let program = "import threading, time, sys, types
sys.modules['mine'] = types.ModuleType('mine')
sys.modules['mine'].file = open('in-a-module', 'w'); sys.modules['mine'].file.write('m')
file = open('global', 'w'); file.write('g')
cycle = [open('cycle', 'w')]; cycle[0].write('c'); cycle.append(cycle)
class Last:
    def __del__(self): print('dropped')
last = Last()
threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()";
    for who in everyone() {
        let run = json!({ "command": { "python": program } });
        let reports = TestHost::new(who).run(json!({ "warm": 1, "runs": [
            run, { "command": { "bash": "rm *" } }, run,
            { "command": { "bash": "cat cycle global in-a-module" } },
        ] }));
        assert_eq!(stdout(&reports[0]), "thread\ndropped\n", "{who:?}");
        assert_eq!(stdout(&reports[2]), "thread\ndropped\n", "{who:?}");
        assert_eq!(stdout(&reports[3]), "cgm", "{who:?}");
    }
}
