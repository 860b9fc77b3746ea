"""report: do the report and the trace of a run have the peaks of its ranks' device memory and their copies?

    report.py TROUPE PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

troupe, program = sys.argv[1:]


def run(*options):
    words = [troupe, "run", "--world", "3", "--slots", "1", "--json", "-", *options]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    print(ended.stderr)
    assert ended.returncode == 0
    return json.loads(ended.stdout)["ranks"], ended.stderr


def copies_in(trace):
    timeline = trace + ".json"
    subprocess.run([troupe, "convert", "--quiet", trace, timeline], check=True)
    with open(timeline, encoding="utf8") as file:
        events = json.load(file)["traceEvents"]
    return [(event["pid"], event["args"]["bytes"]) for event in events if event.get("name") == "copy"]


with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "run.prism")
    ranks, said = run("--trace", trace, "--device", "h100", "--", sys.executable, program)
    for rank in ranks:
        large = rank["rank"] + 1
        assert rank["device_peak_bytes"] == large * (3 << 20) + 1000, rank
        assert rank["device_fragmented_bytes"] == large * (1 << 20) + (2 << 20) - 1000, rank
    assert "device memory: 9.0 MiB at most, in the process of rank 2" in said
    copies = copies_in(trace)
    assert sorted(copies) == sorted((rank, size) for rank in range(3) for size in (4096, 300)), copies
    for rank in range(3):  # as the program asked for them
        assert [size for place, size in copies if place == rank] == [4096, 300], copies
ranks, said = run("--no-trace", "--", "true")
assert all(rank["device_peak_bytes"] is None and rank["device_fragmented_bytes"] is None for rank in ranks)
assert "device memory" not in said
