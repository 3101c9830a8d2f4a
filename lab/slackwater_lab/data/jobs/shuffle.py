"""Groups ROWS rows by key over PARTITIONS partitions, ROUNDS times with PAUSE seconds between; prints a checked result.

`shuffle.py ROWS PARTITIONS ROUNDS PAUSE`. The sum of all rows is known, so a lost or doubled row would show.
"""

import sys
import time

from pyspark.sql import SparkSession, functions

rows, partitions, rounds, pause = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
spark = SparkSession.builder.getOrCreate()
for number in range(rounds):
    keyed = spark.range(0, rows, 1, partitions).withColumn("key", functions.col("id") % 997)
    grouped = keyed.groupBy("key").agg(functions.sum("id").alias("total"))
    groups, total = grouped.agg(functions.count("*"), functions.sum("total")).first()
    right = groups == min(rows, 997) and total == rows * (rows - 1) // 2
    print(f"round {number}: {groups} groups, total {total}, {'right' if right else 'WRONG'}", flush=True)
    time.sleep(pause)
print("RESULT right" if right else "RESULT wrong", flush=True)
spark.stop()
