"""Checks packaging/image against the schemas of Compose and Kubernetes, and what schemas cannot
say: check_manifests.py FOLDER COMPOSE_SCHEMA. Prints what was checked."""

import json
import re
import sys
from pathlib import Path

import jsonschema
import kubernetes_validate
import yaml

VERSIONS = ["1.33", "1.34", "1.35", "1.36", "1.37"]


def check_compose(folder, schema):
    text = (folder / "compose.yaml").read_text()
    compose = yaml.safe_load(text)
    # The schema is older than `cgroup` of a service.
    schema["definitions"]["service"]["properties"]["cgroup"] = {"enum": ["host", "private"]}
    jsonschema.validate(compose, schema)
    services = compose["services"]
    for name, service in services.items():
        for other in service.get("depends_on", {}):
            assert other in services, f"{name} depends on {other}"
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source.startswith("/") or source in compose["volumes"], volume
        # No secret has a default.
        for variable, value in service["environment"].items():
            if re.search("KEY|PASSWORD", variable):
                assert re.fullmatch(r"\$\{[A-Z_]+(:-|:\?.+)\}", value), variable
    print("compose.yaml:", ", ".join(services))


def check_kubernetes(folder):
    objects = list(yaml.safe_load_all((folder / "kubernetes.yaml").read_text()))
    for one in objects:
        for version in VERSIONS:
            kubernetes_validate.validate(one, version, strict=True)
    by_kind = {one["kind"]: one for one in objects}
    assert len(by_kind) == len(objects)
    name = lambda kind: by_kind[kind]["metadata"]["name"]
    deployment = by_kind["Deployment"]["spec"]
    template = deployment["template"]
    pod = template["spec"]
    (container,) = pod["containers"]
    labels = template["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert by_kind["Service"]["spec"]["selector"] == labels
    (port,) = container["ports"]
    (served,) = by_kind["Service"]["spec"]["ports"]
    assert served["targetPort"] == port["name"]
    for probe, path in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]:
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
    (secret,) = container["envFrom"]
    assert secret["secretRef"]["name"] == name("Secret")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
    claim = volumes["data"]["persistentVolumeClaim"]
    assert claim["claimName"] == name("PersistentVolumeClaim")
    assert volumes["configuration"]["configMap"]["name"] == name("ConfigMap")
    # The API server refuses an unmasked /proc in the user namespace of the host.
    security = container["securityContext"]
    assert security["procMount"] == "Unmasked" and pod["hostUsers"] is False
    assert security["seccompProfile"]["type"] == "Localhost"
    print("kubernetes.yaml:", ", ".join(by_kind))


def check_cluster(folder):
    text = (folder / "kubernetes-cluster.yaml").read_text()
    objects = list(yaml.safe_load_all(text))
    for one in objects:
        for version in VERSIONS:
            kubernetes_validate.validate(one, version, strict=True)
    find = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(find) == len(objects)
    for one in objects:
        for secret in one.get("stringData", {}).values():
            assert "change-me" in secret, secret
    pods = {}
    for (kind, name), one in find.items():
        if kind not in ("Deployment", "StatefulSet"):
            continue
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels == {"app": name}
        pods[name] = one["spec"]["template"]["spec"]
        assert pods[name]["automountServiceAccountToken"] is False
    for (kind, name), one in find.items():
        spec = one.get("spec", {})
        if kind == "Service":
            assert spec["selector"]["app"] in pods
        if kind == "PodDisruptionBudget":
            assert spec["selector"]["matchLabels"]["app"] == name
    for name, pod in pods.items():
        (container,) = pod["containers"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        for volume in volumes.values():
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in find, name
            if "secret" in volume:
                assert ("Secret", volume["secret"]["secretName"]) in find, name
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["readOnlyRootFilesystem"] is True
    # Each worker has a user at NATS and a password, and no pod of a worker has any other secret.
    workers = find["StatefulSet", "prowess-worker"]["spec"]
    names = {f"prowess-worker-{number}" for number in range(workers["replicas"])}
    urls = find["Secret", "prowess-workers"]["stringData"]
    assert set(urls) == names
    passwords = find["Secret", "prowess-nats"]["stringData"]
    gateway = find["Secret", "prowess-gateway"]["stringData"]
    assert passwords["GATEWAY_PASSWORD"] == gateway["NATS_PASSWORD"]
    nats = find["ConfigMap", "prowess-nats"]["data"]["nats.conf"]
    for name in names:
        variable = f"WORKER_{name.rsplit('-', 1)[1]}_PASSWORD"
        assert f"user: {name}, password: ${variable}\n" in nats, name
        assert f'subscribe: "prowess.w.{name}.>"' in nats, name
        assert urls[name] == f"nats://{name}:{passwords[variable]}@prowess-nats:4222"
    assert len(re.findall("user: ", nats)) == len(names) + 1
    assert all(f"${variable}" in nats for variable in passwords)
    (worker,) = pods["prowess-worker"]["containers"]
    assert "envFrom" not in worker
    assert [variable["name"] for variable in worker["env"]] == ["POD_NAME"]
    (url,) = [mount for mount in worker["volumeMounts"] if mount["name"] == "nats-url"]
    assert url["subPathExpr"] == "$(POD_NAME)"
    configuration = find["ConfigMap", "prowess-worker"]["data"]["prowess.toml"]
    assert f'"file:{url["mountPath"]}"' in configuration
    assert worker["securityContext"]["procMount"] == "Unmasked"
    assert pods["prowess-worker"]["hostUsers"] is False
    print("kubernetes-cluster.yaml:", ", ".join(sorted({kind for kind, _ in find})))


folder, schema = map(Path, sys.argv[1:])
check_compose(folder, json.loads(schema.read_text()))
check_kubernetes(folder)
check_cluster(folder)
