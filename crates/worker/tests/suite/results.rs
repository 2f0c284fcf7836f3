//! Results that are kept, commands that are attached to, and commands that are ended.

use crate::gateway::{TestGateway, ended, failed};
use crate::object_server::ObjectServer;
use crate::support::TestWorker;
use prowess_bus::Bus;
use prowess_worker::protocol::{Ask, ExecRequest, RemoteError, WorkerReply, WorkerRequest};
use std::time::Duration;

#[tokio::test]
async fn the_same_command_again_gets_the_kept_result_and_does_not_run_again() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("date +%N > stamp; cat stamp");
    let first = ended(gateway.exec(request.clone()).await.0);
    // The gateway died before it could commit this; another one resumes the run.
    let mut other = gateway.other();
    let (last, conversation) = other.exec(request.clone()).await;
    let second = ended(last);
    assert_eq!(conversation.attached, Some(true));
    assert_eq!(first.report.stdout.text, second.report.stdout.text);
    assert_eq!(first.changes, second.changes);
    other.commit(&second.changes.unwrap());
    // Another command under the same id is not mixed up with it.
    let mut conflict = other.request("true");
    conflict.command.clone_from(&request.command);
    let (last, _) = other.exec(conflict).await;
    assert_eq!(failed(last), RemoteError::COMMAND_CONFLICT);
    // Killing discards the result.
    let command = request.command.clone();
    other
        .send(WorkerRequest::Kill {
            command,
            listener: None,
            epoch: 0,
        })
        .await;
    let mut attach = request;
    attach.attach_only = true;
    let (last, _) = other.exec(attach).await;
    assert_eq!(failed(last), RemoteError::UNKNOWN_COMMAND);
}

#[tokio::test]
async fn large_contents_of_a_kept_result_are_uploaded_to_the_places_of_the_next_gateway() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.objects = Some(ObjectServer::start().await);
    let request = gateway.request("head -c 2000000 /dev/urandom > large");
    ended(gateway.exec(request.clone()).await.0);
    let mut other = gateway.other();
    other.objects = Some(ObjectServer::start().await);
    let second = ended(other.exec(request.clone()).await.0);
    assert!(matches!(other.asks.as_slice(), [Ask::Uploads { .. }]));
    other.commit(&second.changes.unwrap());
    // Once the copy has other files, there is nothing left to upload.
    let mut third = gateway.other();
    third.run("echo other > large").await;
    let mut late = gateway.other();
    let (last, _) = late.exec(request.clone()).await;
    assert_eq!(failed(last), RemoteError::RESULT_GONE);
    // Then it is run again, for whoever may repeat it.
    let again = ended(late.exec(request).await.0);
    late.commit(&again.changes.unwrap());
}

#[tokio::test]
async fn a_second_gateway_attaches_to_a_running_command_and_both_get_its_result() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.put("input", "from the store");
    let request = gateway.request("echo started; sleep 1; cat input > out");
    let exec = || WorkerRequest::Exec(Box::new(request.clone()));
    let mut first = gateway.begin(exec()).await;
    while first.output.is_empty() {
        gateway.step(&mut first).await;
    }
    let mut other = gateway.other();
    let mut second = other.begin(exec()).await;
    let (one, two) = tokio::join!(gateway.finish(&mut first), other.finish(&mut second));
    assert_eq!((first.attached, second.attached), (Some(false), Some(true)));
    assert!(first.beats > 0 && second.beats > 0);
    let (one, two) = (ended(one), ended(two));
    assert_eq!(one.changes, two.changes);
    gateway.commit(&one.changes.unwrap());
    assert_eq!(gateway.content("out"), b"from the store");
}

#[tokio::test]
async fn a_gateway_that_has_lost_the_run_is_refused_and_ends_nothing() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("echo started; sleep 1000");
    let of_epoch = |epoch| ExecRequest {
        epoch,
        ..request.clone()
    };
    let exec = |epoch| WorkerRequest::Exec(Box::new(of_epoch(epoch)));
    let mut first = gateway.begin(exec(1)).await;
    while first.output.is_empty() {
        gateway.step(&mut first).await;
    }
    // Its process is stopped, and another one claims the run.
    let mut other = gateway.other();
    let mut second = other.begin(exec(2)).await;
    let last = gateway.finish(&mut first).await;
    assert_eq!(failed(last), RemoteError::RUN_LOST);
    // It goes on, and asks for the command again after the silence.
    let (last, conversation) = gateway.exec(of_epoch(1)).await;
    assert_eq!(failed(last), RemoteError::RUN_LOST);
    assert_eq!(conversation.attached, None);
    for listener in [None, Some("anybody".to_owned())] {
        let command = request.command.clone();
        let kill = WorkerRequest::Kill {
            command,
            listener,
            epoch: 1,
        };
        gateway.send(kill).await;
    }
    // The other one still has it, and decides when it ends.
    let (last, _) = gateway.exec(of_epoch(1)).await;
    assert_eq!(failed(last), RemoteError::RUN_LOST);
    let beats = second.beats;
    while second.beats < beats + 2 {
        let reply = other.step(&mut second).await;
        assert!(!reply.is_final(), "{reply:?}");
    }
    let kill = WorkerRequest::Kill {
        command: request.command.clone(),
        listener: None,
        epoch: 2,
    };
    other.send(kill).await;
    assert_eq!(failed(other.finish(&mut second).await), RemoteError::KILLED);
}

#[tokio::test]
async fn a_gateway_that_dies_before_it_answered_is_replaced_by_the_next_one() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.put("input", "from the store");
    let request = gateway.request("cat input");
    let exec = || WorkerRequest::Exec(Box::new(request.clone()));
    // It is gone before the worker needs something.
    drop(gateway.begin(exec()).await);
    let mut other = gateway.other();
    let mut second = other.begin(exec()).await;
    let result = ended(other.finish(&mut second).await);
    assert_eq!(result.report.stdout.text, "from the store");
}

#[tokio::test]
async fn a_killed_command_ends_at_once_and_leaves_nothing() {
    let bus = Bus::local();
    let _worker = TestWorker::start(&bus).await;
    let mut gateway = TestGateway::new(&bus);
    gateway.run("echo before > file").await;
    let request = gateway.request("echo after > file; echo started; sleep 1000");
    let command = request.command.clone();
    let mut conversation = gateway.begin(WorkerRequest::Exec(Box::new(request))).await;
    while conversation.output.is_empty() {
        gateway.step(&mut conversation).await;
    }
    gateway
        .send(WorkerRequest::Kill {
            command,
            listener: None,
            epoch: 0,
        })
        .await;
    let WorkerReply::Failed(error) = gateway.finish(&mut conversation).await else {
        panic!("it was killed")
    };
    assert_eq!(error.code, RemoteError::KILLED);
    assert!(error.began);
    assert_eq!(gateway.run("cat file").await.report.stdout.text, "before\n");
}

#[tokio::test]
async fn a_command_that_no_gateway_keeps_is_ended() {
    let bus = Bus::local();
    let worker = TestWorker::with(&bus, |settings| {
        settings.keep_timeout = Duration::from_millis(200);
    })
    .await;
    let mut gateway = TestGateway::new(&bus);
    let request = gateway.request("sleep 1000");
    let (last, _) = gateway.exec(request).await;
    assert_eq!(failed(last), RemoteError::ABANDONED);
    assert_eq!(worker.service.beat().running, 0);
}
