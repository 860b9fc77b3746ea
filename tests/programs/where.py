"""Says in one line where this rank is, as its variables tell it."""
import os

print("{RANK}: local {LOCAL_RANK} of {LOCAL_WORLD_SIZE}, host {GROUP_RANK} {NODE_RANK} of {GROUP_WORLD_SIZE}, "
      "world {WORLD_SIZE}".format(**os.environ))
