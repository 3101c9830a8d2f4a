"""A day of tasks with Borg's ratios."""

import numpy as np
import pytest

from slackwater.errors import BadNumber, UnknownName
from slackwater_simulator.workload.generators.catalogue import generate


def test_every_task_has_a_ratio_of_its_own() -> None:
    """The quartiles of 2,000 tasks are near Borg's; CPU may burst to twice its request, memory may not."""
    usages = [stage.usage for job in generate("gen:borg").jobs for stage in job.stages]
    cpu = np.array([usage.cpu[0] for usage in usages if usage])
    memory = np.array([usage.memory[0] for usage in usages if usage])
    assert len(cpu) == 2000
    assert np.quantile(cpu, [0.25, 0.5, 0.75]) == pytest.approx([0.055, 0.269, 0.753], rel=0.2)
    assert np.quantile(memory, [0.25, 0.5, 0.75]) == pytest.approx([0.251, 0.551, 0.779], rel=0.12)
    assert (cpu.max(), memory.max()) == (2.0, 1.0)


def test_shape_and_noise_are_the_simulator_s() -> None:
    """As of `gen:hour`."""
    usage = generate("gen:borg?shape=ramp&noise=0.1").jobs[0].stages[0].usage
    assert usage is not None
    assert (usage.memory_shape, usage.noise) == ((0.2, 1.0, 1.0), 0.1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("gen:borg?tasks=0", BadNumber, id="no-task"),
        pytest.param("gen:borg?noise=-1", BadNumber, id="noise-below-0"),
        pytest.param("gen:borg?shape=square", UnknownName, id="shape"),
    ],
)
def test_what_cannot_be_made_is_refused(text: str, error: type[Exception]) -> None:
    """With what to write instead."""
    with pytest.raises(error):
        generate(text)
