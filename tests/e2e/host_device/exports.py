"""exports: does a library export the calls of its table, under its version, and those of the library it stands for?

    exports.py LIBRARY TABLE MACROS VERSION [REAL_LIBRARY]     VERSION "-": none; REAL_LIBRARY may be absent
"""
import os
import re
import subprocess
import sys


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in lines.splitlines() if line.split()[-2] in "TWi"}


library, table, macros, version, *real = sys.argv[1:]
ending = "" if version == "-" else "@@" + version
with open(table, encoding="utf8") as lines:
    wanted = {name + ending for name in re.findall(rf"^(?:{macros})\((\w+)", lines.read(), re.M)}
have = exported(library)
problems = [f"not exported: {name}" for name in sorted(wanted - have)]
if real and os.path.exists(real[0]):
    problems += [f"the real library has also: {name}" for name in sorted(exported(real[0]) - have)]
    print(f"compared with {real[0]}")
print("\n".join(problems) or f"{len(wanted)} calls")
sys.exit(bool(problems) or not wanted)
