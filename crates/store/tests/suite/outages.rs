//! A server that becomes unreachable and recovers.

use std::time::Duration;

use prowess_store::{Database, KeyScope, NewKey, Store};
use prowess_testkit::postgres::PostgresServer;
use prowess_testkit::s3::TestS3;
use prowess_testkit::tcp_proxy::TcpProxy;
use sqlx::{Connection, PgConnection, raw_sql};

use crate::attack_data::upload;
use crate::object_store;
use crate::testbed::{TestBed, run, skill};

#[test]
fn a_database_server_that_was_stopped_is_used_again_once_it_is_back() {
    let server = PostgresServer::start();
    let mut bed = TestBed::new(Database::Sqlite);
    bed.config.database = server.database();
    run(async {
        let store = bed.open().await;
        let made = bed.create(&store, "one").await.skill.id;
        let new = NewKey {
            name: "k",
            scopes: &[KeyScope::Use],
            expires_in: None,
            auto: None,
        };
        let (_, known) = store.create_key(&bed.tenant, &new).await.unwrap();
        let (_, unseen) = store.create_key(&bed.tenant, &new).await.unwrap();
        let authenticate = async |store: &Store, key: &prowess_store::SecretKey| {
            store.authenticate(key.reveal()).await
        };
        assert!(authenticate(&store, &known).await.unwrap().is_some());
        server.stop();
        // What needs the database fails; recently used keys are still accepted.
        let error = store.skill(&bed.tenant, &made).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        let error = upload(&store, &bed.tenant, 1, 5_000).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(store.check_ready().await.is_err());
        assert!(authenticate(&store, &known).await.unwrap().is_some());
        assert!(authenticate(&store, &unseen).await.is_err());
        assert!(authenticate(&store, &known).await.unwrap().is_some());
        server.restart();
        assert_eq!(store.skill(&bed.tenant, &made).await.unwrap().id, made);
        upload(&store, &bed.tenant, 2, 5_000).await.unwrap();
        assert!(authenticate(&store, &unseen).await.unwrap().is_some());
    });
}

#[test]
fn a_key_that_is_revoked_is_not_known_any_more() {
    run(async {
        let bed = TestBed::new(Database::Sqlite);
        let (store, other) = (bed.open().await, bed.open().await);
        let new = NewKey {
            name: "k",
            scopes: &[KeyScope::Use],
            expires_in: None,
            auto: None,
        };
        let (key, secret) = store.create_key(&bed.tenant, &new).await.unwrap();
        for store in [&store, &other] {
            let found = store.authenticate(secret.reveal()).await.unwrap();
            assert!(found.is_some());
        }
        store.revoke_key(&bed.tenant, &key.id).await.unwrap();
        for store in [&store, &other] {
            let found = store.authenticate(secret.reveal()).await.unwrap();
            assert!(found.is_none());
        }
        // Its last known state is revoked.
        for store in [&store, &other] {
            store.close().await;
            assert_eq!(store.authenticate(secret.reveal()).await.unwrap(), None);
        }
    });
}

#[test]
fn a_database_server_without_space_is_full() {
    run(async {
        let bed = TestBed::new(Database::Postgres);
        let store = bed.open().await;
        let mut connection = PgConnection::connect(&bed.config.database).await.unwrap();
        let sql = "
            CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
            CREATE TRIGGER refused BEFORE INSERT ON files
                FOR EACH ROW EXECUTE FUNCTION refuse();";
        raw_sql(sql).execute(&mut connection).await.unwrap();
        let error = upload(&store, &bed.tenant, 1, 5_000).await.unwrap_err();
        assert_eq!(error.code(), "storage-full", "{error}");
        assert_eq!(bed.objects(), 0);
        let sql = "DROP FUNCTION refuse CASCADE";
        raw_sql(sql).execute(&mut connection).await.unwrap();
        upload(&store, &bed.tenant, 1, 5_000).await.unwrap();
    });
}

#[test]
fn an_object_store_that_is_gone_fails_soon_and_is_used_again() {
    let s3 = TestS3::start();
    let endpoint = s3.endpoint();
    let port = endpoint.rsplit(':').next().unwrap().parse().unwrap();
    let proxy = TcpProxy::start(port);
    proxy.stop();
    let mut bed = object_store::bed(&s3);
    for (name, value) in &mut bed.config.blob_options {
        if name == "aws_endpoint" {
            *value = format!("http://127.0.0.1:{}", proxy.port());
        }
    }
    bed.config.accept_empty = true;
    run(async {
        let store = bed.open().await;
        let error = upload(&store, &bed.tenant, 1, 5_000).await.unwrap_err();
        assert_eq!(error.code(), "blob-storage", "{error}");
        assert!(error.is_transient());
        let unready = store.check_ready().await.unwrap_err();
        assert_eq!((unready.part, unready.full), ("blob storage", false));
        // What needs no object still works.
        upload(&store, &bed.tenant, 1, 100).await.unwrap();
        let new = skill("one", "x");
        let new = prowess_store::NewSkill::from_skill(&new);
        store.create_skill(&bed.tenant, &new).await.unwrap();
        proxy.resume();
        let file = upload(&store, &bed.tenant, 2, 5_000).await.unwrap();
        let (_, content) = store.read_file(&bed.tenant, &file.id).await.unwrap();
        assert_eq!(content.collect().await.unwrap().len(), 5_000);
        assert_eq!(s3.keys("skills").len(), 1);
        while store.check_ready().await.is_err() {
            // A result is reused for a short time.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
}
