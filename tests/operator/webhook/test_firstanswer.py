"""The first answer of a webhook that is ready comes as soon as all others: an API server waits two seconds for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.builders.certificates import certify
from support.fakes.httpcluster import Cluster

# One review after the program was loaded: which modules were loaded for it.
REVIEW = """
import json, sys
import slackwater_operator.webhook.__main__
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.admissionpolicies import review
from slackwater_cluster.admissionpolicies.mutation import mutation

rules, enforce = builtin().rules(), SlackPolicySpec.model_validate({"mode": "enforce"})
container = {"name": "m", "resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}
pod = {"metadata": {"name": "p", "labels": {"spark-role": "executor"}}, "spec": {"containers": [container]}}
body = json.dumps({"request": {"uid": "u", "namespace": "team", "object": pod}}).encode()
before = set(sys.modules)
asked = review.read(body)
patch = mutation(asked.pod, enforce, rules, open_gate=False)
review.answer(asked, patch)
print(json.dumps([len(patch), sorted(set(sys.modules) - before)]))
"""

# The program until it listens, beside an API server that does not answer: how much of what it holds is set apart.
PROGRAM = """
import asyncio, gc, socket, sys
from pathlib import Path
from slackwater_operator.webhook.__main__ import WebhookSettings, serve

async def listening():
    folder = Path(sys.argv[1])
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    files = {"certificate": folder / "tls.crt", "key": folder / "tls.key", "kubeconfig": folder / "kubeconfig"}
    work = asyncio.create_task(serve(WebhookSettings(port=port, **files)))
    while not work.done():
        await asyncio.sleep(0.05)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                print(gc.get_freeze_count() / (gc.get_freeze_count() + len(gc.get_objects())))
                work.cancel()
    await asyncio.gather(work, return_exceptions=True)

asyncio.run(listening())
"""


def test_the_first_answer_loads_no_library() -> None:
    """Reading one amount through the Kubernetes client, loaded only then, costs 0.4 s of a whole core."""
    done = subprocess.run([sys.executable, "-c", REVIEW], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "[]]" in done.stdout, done.stdout
    assert not done.stdout.startswith("[0,")


def test_no_answer_waits_for_a_collection_of_what_was_loaded(tmp_path: Path) -> None:
    """A full one takes some 80 ms over eighty thousand objects, and none of them ever goes."""
    certify(tmp_path, "webhook")
    Cluster(url="http://127.0.0.1:9").kubeconfig(tmp_path)
    line = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) > 0.95, done.stdout
