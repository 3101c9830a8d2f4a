#!/usr/bin/env bash
# The end-to-end suite on a kind cluster: make it, load the image, install the chart, run, take it away.
# Needs docker, kind, helm and kubectl. Simulated nodes come from the kwok that `python -m slackwater_lab build` made;
# it runs beside the cluster. Tests that end processes or need measured use skip and say so.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=${KIND_CLUSTER:-slackwater-e2e}
folder=$(mktemp -d)
export KUBECONFIG=$folder/kubeconfig
python=${PYTHON:-.venv/bin/python}
kwok=$("$python" -c 'from slackwater_lab.builds import built; print(built("kwok"))')
stages=$("$python" -c 'from slackwater_lab.kwok import STAGES; print(STAGES)')
version=$("$python" -c 'import slackwater; print(slackwater.__version__)')

finish() {
  if [ -n "${simulator:-}" ]; then kill "$simulator" || true; fi
  kind delete cluster --name "$name"
  rm -rf "$folder"
}
trap finish EXIT

kind create cluster --name "$name" ${KIND_IMAGE:+--image "$KIND_IMAGE"} ${KIND_CONFIG:+--config "$KIND_CONFIG"} --wait 120s
docker build ${BASE:+--build-arg "BASE=$BASE"} -t "slackwater:$version" .
kind load docker-image "slackwater:$version" --name "$name"
helm install slackwater helm/slackwater --namespace slackwater-system --create-namespace \
  --values helm/slackwater/values-kind.yaml --set "image.tag=$version" --wait --timeout 5m

"$kwok" --kubeconfig="$KUBECONFIG" --config="$stages" --manage-all-nodes=false \
  --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake --server-address=127.0.0.1:10247 &
simulator=$!
# One simulated node tells the suite that a kwok is there; a taint keeps ordinary pods away from it.
"$python" - <<'NODE' | kubectl create -f -
import json
from slackwater_lab.nodes import Shape, manifest
print(json.dumps(manifest("simulated", Shape(cpu="1", memory="1Gi", tainted=True))))
NODE

SLACKWATER_E2E_KUBECONFIG=$KUBECONFIG "$python" -m pytest -q -m lab tests/e2e "$@"
