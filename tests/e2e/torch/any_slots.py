"""any_slots: a program prints the same to the bit and leaves the same digests on whatever slots, or the losses of another run.

    any_slots.py TROUPE PYTHON slots WORLD 8,4,2,1 PROGRAM ARGS...
    any_slots.py TROUPE PYTHON like-gloo WORLD SLOTS PROGRAM ARGS...    losses of the same ranks on live gloo
    any_slots.py TROUPE PYTHON like OTHER WORLD SLOTS PROGRAM ARGS...   losses of the program OTHER with the same ARGS

Losses agree within 1e-6, relative to 1 + the loss: another order of sums rounds otherwise. Status 1 where something differs.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOLERANCE = 1e-6
LAUNCH = pathlib.Path(__file__).resolve().parents[3] / "tools" / "demo" / "launch.py"


def output(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def on_slots(troupe, python, world, slots, program):
    """What it printed, the digest of its world, and those of its ranks."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.prism"
        printed = output([troupe, "run", "--world", world, "--slots", slots, "--trace", trace, "--quiet", "--",
                          python, "-W", "ignore", *program])
        summary = json.loads(output([troupe, "inspect", trace, "--json", "-"]))
    return sorted(printed.splitlines()), summary["digest"], summary["digests"]


def losses(lines):
    found = [float(loss) for line in lines for loss in re.findall(r"step \d+ loss (\S+)", line)]
    if len(found) < 2:
        sys.exit(f"too few losses in {lines}")
    return found


def check_slots(troupe, python, world, slots, *program):
    several = slots.split(",")
    first = on_slots(troupe, python, world, several[0], program)
    losses(first[0])
    if len(first[2]) != int(world):
        sys.exit(f"{len(first[2])} digests of {world} ranks")
    for count in several[1:]:
        other = on_slots(troupe, python, world, count, program)
        for what, one, two in zip(("lines", "world's digest", "ranks' digests"), first, other):
            if one != two:
                sys.exit(f"{what} on {several[0]} and on {count} slots differ:\n{one}\n{two}")
    print("same on", slots, "slots:", *first[0], first[1], sep="\n")


def check_losses(wanted, found):
    print("wanted", wanted, "found", found)
    if len(wanted) != len(found) or any(abs(a - b) > TOLERANCE * (1 + abs(a)) for a, b in zip(wanted, found)):
        sys.exit("losses differ")


def check_like_gloo(troupe, python, world, slots, *program):
    check_losses(losses([output([python, "-W", "ignore", LAUNCH, world, *program])]),
                 losses(on_slots(troupe, python, world, slots, program)[0]))


def check_like(troupe, python, other, world, slots, program, *arguments):
    check_losses(losses(on_slots(troupe, python, world, slots, [other, *arguments])[0]),
                 losses(on_slots(troupe, python, world, slots, [program, *arguments])[0]))


if __name__ == "__main__":
    troupe_, python_, mode, *rest = sys.argv[1:]
    {"slots": check_slots, "like-gloo": check_like_gloo, "like": check_like}[mode](troupe_, python_, *rest)
