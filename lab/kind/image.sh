#!/usr/bin/env bash
# A kind node image and a base for our own image, where packages can be had but no image registry answers.
# Needs root, docker, debootstrap and Go. What kind itself would pull is built: Kubernetes, etcd and CoreDNS from
# their Go modules, the rest from Debian. Run the suite on it:
#   KIND_IMAGE=slackwater-lab/node:v1.36.4 KIND_CONFIG=lab/kind/cluster.yaml BASE=slackwater-lab/python:3.11 make e2e-kind
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
suite=bookworm
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp lab/kind/* "$context"

"$python" -m slackwater_lab build etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet pause \
  kind kubeadm kube-proxy coredns
built() { "$python" -c 'import sys; from slackwater_lab.programs.build import built; print(built(sys.argv[1]))' "$1"; }
version=$("$python" -c 'from slackwater_lab.programs.programs import program; print(program("kubeadm").version)')
stage() { docker build --target "$1" --tag "$2" "$context"; }

# Debian, with the certificate authorities that were added to this machine.
if ! docker image inspect "slackwater-lab/debian:$suite" > /dev/null 2>&1; then
  debian=$context/debian
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$debian"
  find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$debian/usr/local/share/ca-certificates" \;
  chroot "$debian" update-ca-certificates
  rm -rf "$debian"/var/cache/apt/archives/*.deb
  tar -C "$debian" -c . | docker import --change 'CMD ["bash"]' - "slackwater-lab/debian:$suite"
  rm -rf "$debian"
fi

mkdir "$context/bin" "$context/images"
cp "$(built kube-proxy)" "$context/kube-proxy"
for name in kubeadm kubelet kubectl; do cp "$(built "$name")" "$context/bin/$name"; done
echo -n "$version" > "$context/version"
(cd lab/go/kind && cp -r "$(go list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files" "$context/files")
chmod -R u+w "$context/files"

stage kube-proxy "registry.k8s.io/kube-proxy:$version"
docker save "registry.k8s.io/kube-proxy:$version" -o "$context/images/kube-proxy.tar"
# The other images that kubeadm wants hold one static program each.
"$(built kubeadm)" config images list --kubernetes-version "$version" | "$python" -c '
import sys
from pathlib import Path
from slackwater_lab.programs.images import single
for image in sys.stdin.read().split():
    name = image.rpartition("/")[2].partition(":")[0]
    if name != "kube-proxy":
        Path(sys.argv[1], f"{name}.tar").write_bytes(single(image, name))
' "$context/images"

stage node "slackwater-lab/node:$version"
stage python slackwater-lab/python:3.11
