#!/usr/bin/env bash
# The end-to-end suite on a kind cluster: make it, load the images, install the chart, run, take everything away.
# Needs docker; kind, helm, kubectl, kwok and Prometheus are those that `python -m slackwater_lab build` makes. kwok and
# Prometheus run in the cluster. What only a lab can play skips and says so.
#   KIND_IMAGE, KIND_CONFIG  another node image (Kubernetes 1.36 or newer), a configuration for `kind create cluster`
#   BASE                     another base for our image
set -euo pipefail
cd "$(dirname "$0")/../.."
name=${KIND_CLUSTER:-slackwater-e2e}
python=${PYTHON:-.venv/bin/python}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export KUBECONFIG=$folder/kubeconfig PATH=$folder/bin:$PATH
version=$("$python" -c 'import slackwater; print(slackwater.__version__)')

finish() {
  kind delete cluster --name "$name"
  rm -rf "$folder"
}

"$python" - "$folder" <<'FILES'
import sys
from pathlib import Path

import yaml

from slackwater_lab.programs.build import built
from slackwater_lab.programs.images import single
from slackwater_lab.nodes.kwok import STAGES
from slackwater_lab.controlplane.prometheus import simulated

folder = Path(sys.argv[1])
(folder / "bin").mkdir()
for name in ("kind", "helm", "kubectl"):
    (folder / "bin" / name).symlink_to(built(name))
for name in ("kwok", "prometheus"):
    (folder / f"{name}.tar").write_bytes(single(f"localhost/lab-{name}:1", name))
(folder / "kwok.yaml").write_bytes(STAGES.read_bytes())
# The real node is scraped by the job that the page on kind gives to its readers.
values = yaml.safe_load(Path("docs/install/kind-prometheus.yaml").read_text())
jobs = [*yaml.safe_load(values["extraScrapeConfigs"]), simulated("simulated", "http://kwok.monitoring.svc:10247")]
settings = {"global": {"scrape_interval": "2s", "scrape_timeout": "2s"}, "scrape_configs": jobs}
(folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
# As the suite's own lab has it, two operators and rates over five scrapes; our pods on the real node.
values = {part: {"nodeSelector": {"slackwater.io/lab-node": "real"}} for part in ("extender", "operator", "scheduler")}
values["operator"]["replicas"], values["prometheus"] = 2, {"window": 10}
(folder / "values.yaml").write_text(yaml.safe_dump(values))
FILES
trap finish EXIT

kind create cluster --name "$name" ${KIND_IMAGE:+--image "$KIND_IMAGE"} ${KIND_CONFIG:+--config "$KIND_CONFIG"} --wait 120s
docker build ${BASE:+--build-arg "BASE=$BASE"} -t "slackwater:$version" .
kind load docker-image "slackwater:$version" --name "$name"
for part in kwok prometheus; do kind load image-archive "$folder/$part.tar" --name "$name"; done

# What really runs stays on the real node. A DaemonSet of kind's would also take room on simulated ones.
kubectl label nodes --all slackwater.io/lab-node=real
for daemons in $(kubectl get daemonsets -n kube-system -o name); do
  kubectl patch -n kube-system "$daemons" -p '{"spec": {"template": {"spec": {"affinity": {"nodeAffinity":
    {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions":
      [{"key": "slackwater.io/lab-node", "operator": "In", "values": ["real"]}]}]}}}}}}}'
  kubectl rollout status -n kube-system "$daemons" --timeout 2m
done
kubectl create namespace monitoring
for part in kwok prometheus; do kubectl create configmap "$part" -n monitoring --from-file "$folder/$part.yaml"; done
kubectl apply -f tests/e2e/kind.yaml

chosen=$(PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}tests "$python" -c 'from support.field import ENFORCE; print(",".join(ENFORCE))')
helm install slackwater helm/slackwater --namespace slackwater-system --create-namespace \
  --values helm/slackwater/values-kind.yaml --values "$folder/values.yaml" --set "$chosen,image.tag=$version" \
  --wait --timeout 5m
kubectl rollout status -n monitoring deployment --timeout 5m
helm test slackwater -n slackwater-system

# One simulated node tells the suite that a kwok is there; a taint keeps ordinary pods away from it.
"$python" - <<'NODE' | kubectl create -f -
import json
from slackwater_lab.nodes.simulated import Shape, manifest
print(json.dumps(manifest("simulated", Shape(cpu="1", memory="1Gi", tainted=True))))
NODE

SLACKWATER_E2E_KIND=$name SLACKWATER_E2E_KUBECONFIG=$KUBECONFIG "$python" -m pytest -q -rs -p no:randomly -m lab tests/e2e "$@"
helm uninstall slackwater -n slackwater-system --wait --timeout 5m
if kubectl get clusterroles,mutatingadmissionpolicies,mutatingwebhookconfigurations,validatingadmissionpolicies -o name | grep slackwater; then
  echo "the uninstall left these behind" >&2
  exit 1
fi
