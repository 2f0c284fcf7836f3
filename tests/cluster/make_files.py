"""Makes many files, and some whose names and modes are hard to carry. BYTES and FILES are set before."""
import os, random
random.seed(1)
names = ["-rf", " leading", "trailing ", "a b", "quote'\"", "$(id)", "`id`", "%2e%2e%2f", "back\\slash",
    "*", "?", "[a]", "{}", "~", "#", ";rm", "&", "|", "...", ".hidden", "..x", "con", "NUL", "caf\u00e9",
    "cafe\u0301", "Case", "case", "\u202egpj.exe", "\U0001f600", "\u4e2d\u6587", "x" * 255,
    "\u00e9" * 127, "SKILL.md", "node_modules", ".git", "__pycache__"]
os.makedirs("hostile", exist_ok=True)
for name in names:
    with open(os.path.join("hostile", name), "w") as file:
        file.write(name)
os.makedirs("deep/" + "/".join("abcdefgh"), exist_ok=True)
for mode in [0o400, 0o444, 0o600, 0o640, 0o644, 0o700, 0o755, 0o777]:
    with open(f"mode-{mode:o}", "w") as file:
        file.write(str(mode))
    os.chmod(f"mode-{mode:o}", mode)
os.mkdir("private"); os.chmod("private", 0o700)
open("empty", "w").close()
os.symlink("empty", "link"); os.symlink("missing/..", "broken"); os.symlink("/etc/passwd", "out")
os.symlink("loop", "loop"); os.symlink("caf\u00e9", "hostile/link \u00e9")
# One in twenty is too large for messages and databases.
large = BYTES // (FILES // 20)
for number in range(FILES):
    folder = f"many/{number % 50}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number}.bin", "wb") as file:
        file.write(random.randbytes(large if number % 20 == 0 else 500))
