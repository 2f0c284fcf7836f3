"""Runs the command of a systemd unit as systemd would, where there is no systemd:
run_unit.py UNIT LOG PID_FILE [NAME=VALUE…]. Knows what prowess.service uses, and fails at anything else.

The control group of the service is delegated to its user, in version 1 or 2.
"""

import ctypes
import os
import pwd
import shlex
import sys
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu")

# What concerns stopping, logs and mounts, none of which is simulated here.
IGNORED = {
    "Restart",
    "RestartSec",
    "TimeoutStopSec",
    "KillMode",
    "LimitNOFILE",
    "ProtectSystem",
    "ProtectHome",
    "PrivateTmp",
    "LockPersonality",
}


def read(unit):
    """The settings of [Service], each with all its values."""
    settings, section = {}, None
    for line in Path(unit).read_text().splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            settings.setdefault(name, []).append(value)
    return settings


def delegate(name, owner):
    """Makes the service's group, and gives it to the user as systemd does."""
    two = (CGROUPS / "cgroup.controllers").exists()
    for base in [CGROUPS] if two else [CGROUPS / one for one in CONTROLLERS]:
        group = base / "system.slice" / name
        group.mkdir(parents=True)
        os.chown(group, owner.pw_uid, owner.pw_gid)
        for file in ["cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "tasks"]:
            if (group / file).exists():
                os.chown(group / file, owner.pw_uid, owner.pw_gid)
        if two:
            (group / "cgroup.procs").write_text(str(os.getpid()))


def main(unit, log, pid_file, *variables):
    settings = read(unit)

    def take(name):
        (value,) = settings.pop(name)
        return value

    user = pwd.getpwnam(take("User"))
    assert take("Group") == user.pw_name
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
    environment.update(one.split("=", 1) for one in settings.pop("Environment"))
    for file in settings.pop("EnvironmentFile"):
        if os.path.exists(file.lstrip("-")):
            lines = Path(file.lstrip("-")).read_text().splitlines()
            environment.update(line.split("=", 1) for line in lines)
    environment.update(one.split("=", 1) for one in variables)
    command = shlex.split(take("ExecStart"))
    Path(f"{pid_file}.reload").write_text(take("ExecReload"))
    state = Path("/var/lib") / take("StateDirectory")
    state.mkdir(exist_ok=True)
    os.chown(state, user.pw_uid, user.pw_gid)
    state.chmod(int(take("StateDirectoryMode"), 8))
    mask, folder = int(take("UMask"), 8), take("WorkingDirectory")
    assert take("NoNewPrivileges") == "yes" and take("Delegate") == "yes"
    assert take("CapabilityBoundingSet") == ""
    unknown = set(settings) - IGNORED
    assert not unknown, f"run_unit.py does not know {unknown}"

    process = os.fork()
    if process:
        Path(pid_file).write_text(str(process))
        return
    os.setsid()
    delegate(Path(unit).name, user)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    os.umask(mask)
    os.chdir(folder)
    os.execve(command[0], command, environment)


main(*sys.argv[1:])
