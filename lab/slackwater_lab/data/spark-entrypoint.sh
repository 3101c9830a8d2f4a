#!/bin/bash
# What Spark on Kubernetes expects of an image: `driver ARGUMENTS` runs the driver, `executor` one executor.
set -euo pipefail
role=${1:-}
classes="${SPARK_CONF_DIR:-$SPARK_HOME/conf}:${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*"

run_driver() {
  exec tini -s -- "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
}

run_executor() {
  local -a options=()
  # Spark numbers the options of the JVM: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, and so on.
  while read -r name; do options+=("${!name}"); done < <(compgen -v SPARK_JAVA_OPT_ | sort -t_ -k4n)
  exec tini -s -- "$JAVA_HOME/bin/java" "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$classes" org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
}

case "$role" in
  driver) shift; run_driver "$@" ;;
  executor) run_executor ;;
  *) exec "$@" ;;
esac
