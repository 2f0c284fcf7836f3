"""``python -m prowess``: the program `prowess`, in place of this process."""

import os
import sys

from prowess._binary import find_binary


def main() -> None:
    binary = str(find_binary())
    try:
        os.execv(binary, [binary, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"error: cannot start {binary}: {error}; install the package prowess again")


if __name__ == "__main__":
    main()
