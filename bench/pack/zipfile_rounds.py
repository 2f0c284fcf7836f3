"""Times Python's zipfile on one archive, one round for each line of input.

Answers each line with three numbers: nanoseconds to unpack, to hash each file,
and to pack.
"""

import hashlib
import io
import sys
import time
import zipfile


def unpack(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 6)
    return out.getvalue()


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        files = unpack(data)
        unpacked = time.perf_counter_ns()
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        hashed = time.perf_counter_ns()
        pack(files)
        packed = time.perf_counter_ns()
        assert len(digests) == len(files)
        print(unpacked - start, hashed - unpacked, packed - hashed, flush=True)


if __name__ == "__main__":
    main()
