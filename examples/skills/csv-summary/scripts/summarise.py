"""Prints a summary of each column of a CSV file.

usage: summarise.py FILE
"""

import csv
import sys
from collections import Counter


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def summary(name, cells):
    filled = [cell for cell in cells if cell.strip()]
    numbers = [number(cell) for cell in filled]
    if filled and None not in numbers:
        detail = f"least {min(numbers):g}, most {max(numbers):g}"
        kind = "number"
    else:
        common = Counter(filled).most_common(3)
        detail = "common: " + ", ".join(f"{value} ({count})" for value, count in common)
        kind = "text"
    return f"{name}: {kind}, filled {len(filled)}, empty {len(cells) - len(filled)}, {detail}"


def main(path):
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    if not rows:
        sys.exit(f"{path} is empty")
    names, rows = rows[0], rows[1:]
    print(f"{len(rows)} rows, {len(names)} columns")
    for index, name in enumerate(names):
        print(summary(name, [row[index] if index < len(row) else "" for row in rows]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
