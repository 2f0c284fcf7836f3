"""Removes, renames, truncates and replaces files of make_files.py."""
import os, shutil
shutil.rmtree("many/7")
os.remove("hostile/-rf"); os.remove("link"); os.symlink("mode-644", "link")
os.rename("hostile/Case", "hostile/moved")
os.chmod("mode-755", 0o600)
os.rmdir("private"); open("private", "w").write("a file where a folder was")
os.remove("empty"); os.mkdir("empty"); open("empty/file", "w").write("a folder where a file was")
open("many/8/8.bin", "wb").write(b"shorter")
open("many/9/9.bin", "ab").write(b"longer")
