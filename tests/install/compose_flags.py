"""Prints the flags of `docker run` for what compose.yaml says of the service prowess, one per
line: compose_flags.py FOLDER. Fails at anything it does not know."""

import sys
from pathlib import Path

import yaml

# What concerns other containers, networks and restarts.
IGNORED = {"depends_on", "environment", "image", "ports", "restart", "stop_grace_period"}

folder = Path(sys.argv[1])
service = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["prowess"]
flags = [f"--user={service.pop('user')}", f"--cgroupns={service.pop('cgroup')}"]
for option in service.pop("security_opt"):
    name, value = option.split("=", 1)
    if name == "seccomp":
        value = folder / value
    flags.append(f"--security-opt={name}={value}")
flags += [f"--cap-drop={one}" for one in service.pop("cap_drop")]
flags += [f"--cap-add={one}" for one in service.pop("cap_add")]
flags += [f"--volume={one}" for one in service.pop("volumes")]
unknown = set(service) - IGNORED
assert not unknown, f"compose_flags.py does not know {unknown}"
print("\n".join(flags))
