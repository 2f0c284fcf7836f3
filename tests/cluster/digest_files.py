"""Prints one digest of everything in the folder: names, kinds, modes, targets and contents."""
import hashlib, os, stat
total = hashlib.sha256()
count = 0
def add(folder):
    global count
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        info = os.lstat(path)
        kind = stat.S_IFMT(info.st_mode)
        content = b""
        if stat.S_ISLNK(info.st_mode):
            content = os.readlink(path).encode()
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).digest()
        mode = 0 if stat.S_ISLNK(info.st_mode) else stat.S_IMODE(info.st_mode)
        total.update(repr((path, kind, mode, content)).encode())
        count += 1
        if stat.S_ISDIR(info.st_mode):
            add(path)
add(".")
print("digest", count, total.hexdigest())
