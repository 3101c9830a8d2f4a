#!/usr/bin/env bash
# Leaves in a cluster what spark-submit would: a driver pod and, once it runs, executors that it owns, with Spark's labels.
#   spark-like.sh NAMESPACE APP EXECUTORS
# Needs kubectl. Every executor asks for a core, uses a fifth of it at most, and ends after half a minute.
set -euo pipefail
namespace=$1 app=$2 executors=$3

# pod NAME ROLE SECONDS [OWNER]: the annotations tell the lab's simulated nodes what a container would have shown by itself.
pod() {
  cat <<POD
---
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {spark-app-selector: $app, spark-role: $2, spark-app-name: $app}
  annotations: {slackwater.io/lab-duration: "$3", kwok.x-k8s.io/usage-cpu: 200m, kwok.x-k8s.io/usage-memory: 200Mi}
  ownerReferences: ${4:-[]}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: busybox:stable
      command: [sleep, "$3"]
      resources: {requests: {cpu: "1", memory: 1Gi}}
POD
}

pod "$app-driver" driver 600 | kubectl apply -n "$namespace" -f -
kubectl wait -n "$namespace" "pod/$app-driver" --for=jsonpath='{.status.phase}'=Running --timeout=120s
uid=$(kubectl get pod -n "$namespace" "$app-driver" -o jsonpath='{.metadata.uid}')
owner="[{apiVersion: v1, kind: Pod, name: $app-driver, uid: $uid, controller: true}]"
for number in $(seq "$executors"); do pod "$app-exec-$number" executor 30 "$owner"; done |
  kubectl apply -n "$namespace" -f - >/dev/null
echo "$executors executors submitted"
