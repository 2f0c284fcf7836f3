"""Times the reference validator over a tree of skills, once for each line read."""

import sys
import time
from pathlib import Path

from skills_ref.validator import validate

folders = sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir())
for _ in sys.stdin:
    start = time.perf_counter()
    for folder in folders:
        validate(folder)
    print(time.perf_counter() - start, flush=True)
