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


folder, schema = map(Path, sys.argv[1:])
check_compose(folder, json.loads(schema.read_text()))
check_kubernetes(folder)
