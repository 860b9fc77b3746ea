"""What a whole job costs: the demo GPT under `troupe run`, 64 ranks of 1.26 million parameters on as many slots as cores.

    job_bench.py TROUPE PYTHON [REPEATS]

Prints wall time over the ranks' CPU time (a slot's share of it), whole and for the steps alone (5 steps less none: start-up
and the end cancel), switches over the fewest, what tracing costs, and how long ranks wait for gradients where DDP's futures
complete later (overlap) and where its hook waits for each bucket. Medians with lowest and highest; no verdict. Each figure's
runs take turns, so that a busy machine is busy for all of them.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

TROUPE, PYTHON = sys.argv[1:3]
REPEATS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
FOLDER = os.path.dirname(os.path.abspath(__file__))
GPT = os.path.join(FOLDER, "../../tools/demo/train_gpt.py")
SLOTS = len(os.sched_getaffinity(0))


def run(world, slots, program, trace=None):
    """The run's report, with ΣCPU of its ranks."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        tracing = ["--trace", os.path.join(folder, "bench.prism")] if trace else ["--no-trace"]
        subprocess.run([TROUPE, "run", "--world", str(world), "--slots", str(slots), "--quiet", "--json", report, *tracing,
                        "--", PYTHON, "-W", "ignore", *map(str, program)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
    found["cpu_ns"] = sum(rank["cpu_ns"] for rank in found["ranks"])
    found["blocked_ns"] = statistics.median(rank["blocked_ns"] for rank in found["ranks"])
    return found


def show(what, values, unit=""):
    values = sorted(values)
    print(f"{what:<66} {statistics.median(values):8.3f} {unit:<3} ({values[0]:.3f} … {values[-1]:.3f})", flush=True)


def ratio(report):
    return report["wall_ns"] / (report["cpu_ns"] / SLOTS)


def measure_job():
    def program(steps):
        return [GPT, "--backend", "gloo", "--width", 160, "--steps", steps]

    runs = []
    for _ in range(REPEATS):
        runs.append({"none": run(64, SLOTS, program(0)), "off": run(64, SLOTS, program(5)),
                     "on": run(64, SLOTS, program(5), trace=True)})
    show("64 ranks: wall", [one["off"]["wall_ns"] / 1e9 for one in runs], "s")
    show("  CPU of the ranks", [one["off"]["cpu_ns"] / 1e9 for one in runs], "s")
    show("  CPU of the runner", [one["off"]["runner_cpu_ns"] / 1e9 for one in runs], "s")
    show("  wall ÷ (CPU of the ranks ÷ slots), whole", [ratio(one["off"]) for one in runs])
    steps = [{key: one["off"][key] - one["none"][key] for key in ("wall_ns", "cpu_ns")} for one in runs]
    show("  the same, the 5 steps alone", [ratio(one) for one in steps])
    show("  switches ÷ fewest", [one["off"]["switches"] / one["off"]["switches_least"] for one in runs])
    show("  wall with tracing ÷ without", [one["on"]["wall_ns"] / one["off"]["wall_ns"] for one in runs])
    show("  CPU of ranks and runner with tracing ÷ without",
         [(one["on"]["cpu_ns"] + one["on"]["runner_cpu_ns"]) / (one["off"]["cpu_ns"] + one["off"]["runner_cpu_ns"])
          for one in runs])


def measure_overlap():
    def program(hook, steps):
        return [os.path.join(FOLDER, "bucket_waits.py"), hook, steps]

    for world, slots in ((2, 2), (16, 2)):
        found = {"futures": [], "waits": []}
        for _ in range(REPEATS):
            for hook, reports in found.items():
                none, all_steps = (run(world, slots, program(hook, steps)) for steps in (0, 10))
                reports.append({key: all_steps[key] - none[key] for key in ("wall_ns", "blocked_ns", "switches")})
        for hook, name in (("futures", "complete later"), ("waits", "are waited for one by one")):
            print(f"{world} ranks on {slots} slots, DDP's buckets {name}, a step:")
            show("  wall", [one["wall_ns"] / 1e7 for one in found[hook]], "ms")
            show("  a rank is blocked", [one["blocked_ns"] / 1e7 for one in found[hook]], "ms")
            show("  switches", [one["switches"] / 10 for one in found[hook]])


measure_job()
measure_overlap()
