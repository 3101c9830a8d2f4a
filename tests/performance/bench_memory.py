"""What the settings of `slackwater_extender/processmemory.py` are worth: CPU and memory of listing many pods.

python tests/performance/bench_memory.py [pods]
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

import msgspec
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from slackwater_cluster.objects import wire
from slackwater_cluster.watch import trim
from slackwater_extender.processmemory import give_back
from support.bench import largecluster

PAGE = 5000  # pods of one page of a list


def megabytes() -> float:
    """Resident memory of this process."""
    return float(psutil.Process().memory_info().rss) / 2**20


def listed(pods: int) -> float:
    """CPU seconds to read so many pods page by page, all of them kept."""
    decoder, kept, spent = msgspec.json.Decoder(list[wire.Pod]), [], 0.0
    for first in range(0, pods, PAGE):
        numbers = range(first, min(first + PAGE, pods))
        page = json.dumps([largecluster.pod(f"p-{n}", f"u-{n}", f"node-{n % 500}", f"app-{n % 500}") for n in numbers])
        body = page.encode()
        began = time.process_time()
        kept += [trim.pod(each) for each in decoder.decode(body)]
        spent += time.process_time() - began
    return spent


def main() -> None:
    """Print what was found."""
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    collected = listed(pods)
    gc.disable()
    uncollected = listed(pods)
    gc.enable()
    peak = megabytes()
    gc.collect()
    give_back()
    sys.stdout.write(
        f"{pods} pods: {collected:.2f} s of CPU with the collector, {uncollected:.2f} s without; "
        f"{peak:.0f} MB, {megabytes():.0f} MB after memory was given back\n"
    )


if __name__ == "__main__":
    main()
