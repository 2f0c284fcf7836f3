//! What a worker can reach that somebody has broken into.

use prowess_testkit::fleet::Fleet;
use prowess_testkit::seaweed::Seaweed;
use reqwest::{Method, StatusCode};

use crate::bed::{ClusterBed, PROVIDER_KEY};
use crate::raw_nats::{NatsLine, RawNats};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_reaches_only_what_its_commands_need() {
    let mut bed = ClusterBed::start_with("", |mut plan| {
        plan.gateways = 1;
        plan.workers = 2;
        plan
    })
    .await;
    may_not_listen_or_speak_elsewhere(&bed);
    has_no_secret(&bed).await;
    has_urls_for_its_digests_only(&mut bed).await;
}

/// With its own password, past its program.
fn may_not_listen_or_speak_elsewhere(bed: &ClusterBed) {
    let (user, password) = Fleet::worker_credentials(0);
    let mut nats = RawNats::connect(bed.fleet.nats.port(), &user, &password);
    assert_eq!(nats.errors(), Vec::<String>::new());
    nats.send("SUB prowess.w.worker-0.do 1\r\n");
    nats.publish("prowess.hb.w", b"");
    assert_eq!(nats.errors(), Vec::<String>::new());
    let mut number = 1;
    for subject in [
        ">",
        "prowess.>",
        "prowess.w.>",
        "prowess.w.*.do",
        "prowess.w.worker-1.do",
        "prowess.w.worker-1.in.>",
        "prowess.g.>",
        "prowess.g.gateway-0.in.>",
        "prowess.hb.w",
        "prowess.hb.g",
        "prowess.run.>",
        "prowess.drop",
        "prowess.rates.*",
        "_INBOX.>",
        "$SYS.>",
    ] {
        number += 1;
        nats.send(&format!("SUB {subject} {number}\r\n"));
        let errors = nats.errors();
        let refused = errors.iter().any(|error| error.contains("Permissions"));
        assert!(refused, "{subject}: {errors:?}");
    }
    for subject in [
        "prowess.w.worker-1.do",
        "prowess.w.worker-1.in.x",
        "prowess.w.worker-0.do",
        "prowess.g.gateway-0.in.x",
        "prowess.hb.g",
        "prowess.drop",
        "prowess.wake.runs",
        "prowess.run.x.ctl",
        "prowess.rates.gateway-0",
        "_INBOX.x",
    ] {
        nats.publish(subject, b"{}");
        let errors = nats.errors();
        let refused = errors.iter().any(|error| error.contains("Permissions"));
        assert!(refused, "{subject}: {errors:?}");
    }
}

/// Neither the process, nor its files, nor a command in it has what only gateways may have.
async fn has_no_secret(bed: &ClusterBed) {
    let secrets = [
        PROVIDER_KEY,
        Fleet::MASTER,
        Seaweed::SECRET_KEY,
        "password-of-gateways",
        "postgres://",
    ];
    let command = "env; cat /proc/self/environ; cat /proc/1/environ; true";
    let seen = bed.script(&bed.fleet.url(), None, &[command]).await;
    let mut places = vec![("a command".to_owned(), seen.output.into_bytes())];
    for worker in &bed.fleet.workers {
        for file in ["environ", "cmdline"] {
            let path = format!("/proc/{}/{file}", worker.pid());
            places.push((path.clone(), std::fs::read(path).unwrap()));
        }
        read_all(worker.folder(), &mut places);
    }
    assert!(places.len() > 6, "{}", places.len());
    for (place, bytes) in &places {
        for secret in secrets {
            let mut windows = bytes.windows(secret.len());
            let found = windows.any(|window| window == secret.as_bytes());
            assert!(!found, "{place} has {secret}");
        }
    }
}

fn read_all(folder: &std::path::Path, places: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read_all(&entry.path(), places);
        } else if kind.is_file()
            && let Ok(bytes) = std::fs::read(entry.path())
        {
            places.push((entry.path().display().to_string(), bytes));
        }
    }
}

/// A URL that a worker got for one content fetches nothing else, and changes nothing.
async fn has_urls_for_its_digests_only(bed: &mut ClusterBed) {
    let (user, password) = Fleet::gateway_credentials();
    let mut nats = RawNats::connect(bed.fleet.nats.port(), user, password);
    nats.send("SUB prowess.w.*.in.> 1\r\n");
    assert_eq!(nats.errors(), Vec::<String>::new());
    let mut urls = Vec::new();
    for command in ["seq 1 200000 > numbers.txt", "seq 2 200001 > numbers.txt"] {
        let url = bed.fleet.url();
        let container = bed.script(&url, None, &[command]).await.container;
        // The next command is elsewhere, and needs the content.
        let worker = bed.worker_number(&bed.last_worker(&container).await);
        bed.fleet.workers[worker].kill();
        // Until then, URLs were for what the command had written.
        assert_eq!(nats.errors(), Vec::<String>::new());
        let command = "wc -l < numbers.txt";
        let seen = bed.script(&url, Some(&container), &[command]).await;
        assert!(seen.output.contains("200000"), "{}", seen.output);
        bed.fleet.workers[worker].restart(&[]);
        bed.fleet.workers[worker].wait_until_ready();
        urls.push(next_url(&mut nats));
    }
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let status = async |method: Method, url: &str| {
        let request = http.request(method.clone(), url);
        let request = match method {
            Method::PUT => request.body("x"),
            _ => request,
        };
        request.send().await.unwrap().status()
    };
    let [first, second]: [String; 2] = urls.try_into().unwrap();
    assert_eq!(status(Method::GET, &first).await, StatusCode::OK);
    let (path, query) = first.split_once('?').unwrap();
    let (other_path, _) = second.split_once('?').unwrap();
    assert_ne!(path, other_path);
    let (bucket, _) = path.split_once("/data/").unwrap();
    for (method, url) in [
        (Method::GET, format!("{other_path}?{query}")),
        (Method::GET, path.to_owned()),
        (Method::GET, format!("{bucket}?list-type=2&{query}")),
        (Method::PUT, first.clone()),
        (Method::DELETE, first.clone()),
    ] {
        let status = status(method.clone(), &url).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {url}");
    }
}

/// The next URL in what gateways send to workers.
fn next_url(nats: &mut RawNats) -> String {
    loop {
        let NatsLine::Message(payload) = nats.read() else {
            continue;
        };
        let text = String::from_utf8_lossy(&payload).into_owned();
        if let Some((_, rest)) = text.split_once("\"http://")
            && let Some((url, _)) = rest.split_once('"')
        {
            return format!("http://{url}");
        }
    }
}
