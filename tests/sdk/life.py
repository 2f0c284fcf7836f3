"""What the life cycles of all Python clients have in common."""

import io
import os
import uuid
import zipfile

URL = os.environ["PROWESS_URL"]
KEY = os.environ["PROWESS_API_KEY"]
# Runs share a server, so each has names of its own.
RUN = uuid.uuid4().hex[:8]
NAME = f"sdk-test-{RUN}"


def skill_md(body="Do it.", name=NAME):
    return f"---\nname: {name}\ndescription: Tests the API with real clients.\n---\n\n{body}\n".encode()


def files(body="Do it."):
    """A skill as a folder's files, with the folder in each name."""
    return [
        (f"{NAME}/SKILL.md", skill_md(body), "text/markdown"),
        (f"{NAME}/scripts/run.py", b"print(1)\n", "text/x-python"),
    ]


def zipped(body="Do it."):
    """The same as one zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content, _ in files(body):
            archive.writestr(name, content)
    return (f"{NAME}.zip", data.getvalue(), "application/zip")


def opened(file):
    """A file as `open` gives it."""
    name, data, _ = file
    handle = io.BytesIO(data)
    handle.name = name
    return handle


def names_in(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as archive:
        return sorted(archive.namelist())


FILES = [f"{NAME}/SKILL.md", f"{NAME}/scripts/run.py"]


def raises(kind, call, *words):
    """The call must fail in this way, and say these words."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {error}"
        assert error.request_id, "an error has the id of its request"
        return error
    raise AssertionError(f"{kind.__name__} was expected")
