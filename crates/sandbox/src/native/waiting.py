def _wait():
    import os, socket, sys
    # Paid for while no one waits: what most programs import anyway.
    import collections, csv, datetime, io, json, pathlib, re, shutil, subprocess, tempfile
    with socket.socket(fileno=3) as channel:
        said, fds, _, _ = socket.recv_fds(channel, 1, 5)
    if not said:
        os._exit(0)
    with open(fds[0]) as body:
        body.seek(0)
        go = json.load(body)
    for number, fd in enumerate(fds[1:4]):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(go["env"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
    os.chdir(go["cwd"])
    return go["program"]

def _run(program, names):
    import sys
    del names["_wait"], names["_run"]
    try:
        exec(compile(program, "<string>", "exec"), names)
    except SystemExit:
        raise
    except BaseException as error:
        # As if this frame were not there.
        inner = error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(inner), inner)
        sys.exit(1)

_run(_wait(), globals())
