"""Spark's own time-outs, with room for a machine whose two cores have other work: none of them is a claim of ours."""

SLOW = {
    "spark.network.timeout": "1200s",
    "spark.executor.heartbeatInterval": "60s",
    "spark.kubernetes.allocation.driver.readinessTimeout": "300s",
    # A driver gives an API server or a name service 10 s, and gives up after three executors that it could not ask for.
    "spark.kubernetes.driver.connectionTimeout": "120000",
    "spark.kubernetes.driver.requestTimeout": "120000",
    # So does spark-submit itself.
    "spark.kubernetes.submission.connectionTimeout": "120000",
    "spark.kubernetes.submission.requestTimeout": "120000",
    "spark.executor.maxNumFailures": "100",
}
