"""report: does the report of a run have the peaks of its ranks' device memory?

    report.py TROUPE PROGRAM
"""
import json
import subprocess
import sys

troupe, program = sys.argv[1:]


def run(*options):
    words = [troupe, "run", "--world", "3", "--slots", "1", "--no-trace", "--json", "-", *options]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    print(ended.stderr)
    assert ended.returncode == 0
    return json.loads(ended.stdout)["ranks"], ended.stderr


ranks, said = run("--device", "h100", "--", sys.executable, program)
for rank in ranks:
    large = rank["rank"] + 1
    assert rank["device_peak_bytes"] == large * (3 << 20) + 1000, rank
    assert rank["device_fragmented_bytes"] == large * (1 << 20) + (2 << 20) - 1000, rank
assert "device memory: 9.0 MiB at most, in rank 2" in said
ranks, said = run("--", "true")
assert all(rank["device_peak_bytes"] is None and rank["device_fragmented_bytes"] is None for rank in ranks)
assert "device memory" not in said
