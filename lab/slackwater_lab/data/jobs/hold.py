"""Each of TASKS tasks holds MEBIBYTES in its Python worker for SECONDS; prints what all of them held.

`hold.py TASKS MEBIBYTES SECONDS`. The memory is outside the JVM's heap and inside the container.
"""

import sys
import time

from pyspark.sql import SparkSession

PAGE = 4096
tasks, mebibytes, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


def hold(numbers):
    """Fill the memory, keep it, and say how much it was."""
    kept = [bytearray(mebibytes << 20) for _ in numbers]
    for block in kept:
        block[::PAGE] = b"x" * len(block[::PAGE])  # a page that was never written to takes no memory
    time.sleep(seconds)
    yield sum(len(block) for block in kept) >> 20


spark = SparkSession.builder.getOrCreate()
held = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(hold).sum()
print("RESULT right" if held == tasks * mebibytes else f"RESULT wrong: {held} MiB", flush=True)
spark.stop()
