"""Real Flink in native Kubernetes mode: a JobManager that asks for TaskManagers, held, released, right in the end."""

import re
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from slackwater_lab.frameworks import flink, layers, operators, spark
from slackwater_lab.programs.build import built
from support.frameworks.playground import Object, Playground, notes, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "flink-team"
PATIENCE = 900.0
PAGE = Path(__file__).resolve().parents[2] / "docs" / "users" / "flink.md"
TEXT = "licenses/LICENSE.automaton"  # below Flink's home, here and in the image
COUNTED = re.compile(r"^(?:\d+> )?\((\w+),(\d+)\)$", re.MULTILINE)  # a word and how often it was found


@pytest.fixture(scope="module")
def ready(ground: Playground) -> Playground:
    """The image on the nodes, and a team whose JobManagers may make pods."""
    ground.load("flink")
    ground.team(TEAM)
    operators.create(ground.api, *spark.rights(TEAM, flink.ACCOUNT))
    return ground


def example() -> list[str]:
    """The words of the command on the page for users."""
    [written] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return shlex.split(written.replace("\\\n", ""))


def other(name: str, settings: Mapping[str, str]) -> list[str]:
    """The same for a cluster of another name, with further settings."""
    words = [f"-Dkubernetes.cluster-id={name}" if "cluster-id" in word else word for word in example()]
    return [*words[:2], *(f"-D{key}={value}" for key, value in settings.items()), *words[2:]]


class Application:
    """One application: its pods as they were seen, and what each of them printed, also after it is gone."""

    def __init__(self, ground: Playground, name: str) -> None:
        self.ground, self.name = ground, name
        self.seen: dict[str, Object] = {}
        self._followers: dict[str, subprocess.Popen[bytes]] = {}

    def submit(self, words: list[str]) -> None:
        """Run `flink`, which ends once the JobManager's Deployment was made."""
        command, site = [str(flink.program()), *words[1:]], self.ground.lab.site
        told = subprocess.run(command, env=flink.environment(site), capture_output=True, timeout=300, check=False)
        assert told.returncode == 0, (told.stdout + told.stderr).decode()[-3000:]

    def look(self) -> list[Object]:
        """Its pods now; the logs of those that run are followed."""
        found = self.ground.pods(TEAM, app=self.name)
        self.seen.update({pod["metadata"]["name"]: pod for pod in found})
        for name in {pod["metadata"]["name"] for pod in found if phase(pod) == "Running"} - set(self._followers):
            self._followers[name] = self._follow(name)
        return found

    def _follow(self, pod: str) -> subprocess.Popen[bytes]:
        where = f"--kubeconfig={self.ground.lab.site.kubeconfig}"
        command = [built("kubectl"), where, "logs", "--follow", f"--namespace={TEAM}", pod]
        with self._log(pod).open("wb") as output:
            return subprocess.Popen(command, stdout=output, stderr=output)

    def _log(self, pod: str) -> Path:
        return self.ground.lab.site.folder / "logs" / f"{pod}.log"

    def ended(self) -> bool:
        """Flink deletes the Deployment of an application that is over, and with it all pods."""
        self.look()
        return self.ground.api.find(f"/apis/apps/v1/namespaces/{TEAM}/deployments/{self.name}") is None

    def printed(self) -> str:
        """What its pods printed, once they are gone."""
        for follower in self._followers.values():
            follower.wait(120)
        return "".join(self._log(pod).read_text() for pod in self._followers)

    def counted(self) -> Counter[str]:
        """How often it found each word."""
        return Counter({word: int(count) for word, count in COUNTED.findall(self.printed())})

    def of(self, component: str) -> list[Object]:
        """Its JobManager or its TaskManagers."""
        return [pod for pod in self.seen.values() if pod["metadata"]["labels"]["component"] == component]


def words() -> Counter[str]:
    """How often each word is in the text, as the job counts them."""
    return Counter(re.findall(r"\w+", (layers.flink_home() / TEXT).read_text().lower(), re.ASCII))


def test_the_example_of_the_page_for_users_runs_as_it_stands_there(ready: Playground, recorder: Recorder) -> None:
    """The JobManager is held and released, asks for TaskManagers, and every word is counted right."""
    start = time.monotonic()
    application = Application(ready, "words")
    ready.cordon(closed=True)
    try:
        application.submit(example())
        until("the JobManager is held", lambda: [phase(pod) for pod in application.look()] == ["Gated"], 120)
        time.sleep(20)
        assert [phase(pod) for pod in application.look()] == ["Gated"]
    finally:
        ready.cordon(closed=False)
    until("the TaskManagers are there", lambda: len(application.look()) == 3, PATIENCE, 0.5)
    recorder.keep(f"flink-{layers.FLINK}-application", application.seen.values(), ready.api)
    until("it ends", application.ended, PATIENCE, 0.5)
    assert application.counted() == words()
    [manager], workers = application.of("jobmanager"), application.of("taskmanager")
    assert (role(manager), requests(manager)["cpu"]) == ("driver", "1")
    assert notes(manager)["slackwater.io/tasks"] == "2"
    assert len(workers) >= 2  # Flink may ask for a third one, when slots of the first are not free again in time
    assert {role(pod) for pod in workers} == {"task"}
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    assert {notes(pod)["slackwater.io/declared-cpu"] for pod in workers} == {"1000m"}
    assert [app for app in ready.tracked(TEAM) if "words" in app] == ["flink/words"]
    result = (
        f"JobManager held for 20 s and released; it is the driver, 1 cpu kept, {len(workers)} TaskManagers its tasks, "
        "1 → 0.5 cpu, one app, every word counted right"
    )
    case = "the example in docs/users/flink.md: WordCount, application mode"
    recorder.add(Row("Flink", layers.FLINK, case, result, round(time.monotonic() - start)))


def held(application: Application) -> int:
    """How many of its pods are held now."""
    return sum(phase(pod) == "Gated" for pod in application.look())


def close_before_taskmanagers(application: Application, settings: Mapping[str, str]) -> None:
    """Submit, and close the nodes while its JobManager starts, so that both TaskManagers are held."""
    application.submit(other(application.name, settings))
    until("the JobManager runs", lambda: [phase(pod) for pod in application.look()] == ["Running"], 300, 0.2)
    application.ground.cordon(closed=True)
    until("both are held", lambda: held(application) == 2, 300)


def test_taskmanagers_that_were_held_come_when_there_is_room(ready: Playground, recorder: Recorder) -> None:
    """The nodes are closed for a minute, and one of the two that wait is deleted: Flink asks for another one."""
    start = time.monotonic()
    application = Application(ready, "patient")
    try:
        close_before_taskmanagers(application, {})
        time.sleep(30)
        victim = min(pod["metadata"]["name"] for pod in application.of("taskmanager"))
        ready.api.delete(f"/api/v1/namespaces/{TEAM}/pods/{victim}")
        until("another one is held", lambda: held(application) == 2 and len(application.seen) == 4, 120)
        time.sleep(30)
        assert held(application) == 2
    finally:
        ready.cordon(closed=False)
    until("it ends", application.ended, PATIENCE, 0.5)
    assert application.counted() == words()
    assert {role(pod) for pod in application.of("taskmanager")} == {"task"}
    result = "two TaskManagers held for a minute, one deleted meanwhile and replaced, then released; right"
    recorder.add(Row("Flink", layers.FLINK, "held and released", result, round(time.monotonic() - start)))


def test_a_request_for_slots_runs_out_while_taskmanagers_are_held(ready: Playground, recorder: Recorder) -> None:
    """`slot.request.timeout` counts while they are held, and ends the application: told in the docs."""
    start = time.monotonic()
    application = Application(ready, "hasty")
    try:
        close_before_taskmanagers(application, {"slot.request.timeout": "20 s"})
        until("it ends", application.ended, 300)
    finally:
        ready.cordon(closed=False)
    assert "Pending slot request timed out" in application.printed()
    result = "set to 20 s, fails while held; give it the longest wait you accept"
    recorder.add(Row("Flink", layers.FLINK, "slot.request.timeout", result, round(time.monotonic() - start)))


def test_the_clock_for_registration_does_not_run_while_taskmanagers_are_held(
    ready: Playground, recorder: Recorder
) -> None:
    """`resourcemanager.taskmanager-registration.timeout` runs out for none of them."""
    start = time.monotonic()
    setting = "resourcemanager.taskmanager-registration.timeout"
    application = Application(ready, "late")
    try:
        close_before_taskmanagers(application, {setting: "60 s"})
        first = set(application.seen)
        time.sleep(90)
        assert {pod["metadata"]["name"] for pod in application.look()} == first
    finally:
        ready.cordon(closed=False)
    until("it ends", application.ended, PATIENCE, 0.5)
    assert application.counted() == words()
    result = "set to 60 s, TaskManagers held for 90 s: none is given up, right"
    recorder.add(Row("Flink", layers.FLINK, setting, result, round(time.monotonic() - start)))
