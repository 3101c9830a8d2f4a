"""Which requests of a line may still go: looked at rarely, and never otherwise than if all were looked at each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.appstarts.ownersbound import OwnersBound
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.candidates import RequestShape
from slackwater.cycle.podline.openrequests import OpenRequests
from slackwater.cycle.podline.sumroom import SumRoom
from slackwater.cycle.snapshot import PodGroup, Pool, Queue, Snapshot
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater.validation import TOLERANCE
from support.builders.nodes import node_table

sizes = st.builds(
    lambda cpu, memory: Resources(cpu=cpu, memory=memory),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    st.sampled_from([0.0, 1.0, 4.0]),
)


@given(
    requests=st.lists(st.tuples(sizes, st.sampled_from(Category), st.floats(0, 3)), min_size=1, max_size=6),
    room=st.lists(st.tuples(st.floats(2, 20), st.floats(2, 30)), min_size=1, max_size=3),
    slots=st.fixed_dictionaries({side: st.floats(0, 8) for side in Category}),
    part=st.sampled_from([0.2, 1.0]),
    share=st.sampled_from([1.0, 0.3]),
    picks=st.lists(st.integers(0, 5), min_size=5, max_size=20),
)
def test_they_close_as_if_each_were_looked_at_each_time(
    requests: list[tuple[Resources, Category, float]],
    room: list[tuple[float, float]],
    slots: dict[Category, float],
    part: float,
    share: float,
    picks: list[int],
) -> None:
    """Pod after pod takes of nodes, of their sum (or a `part` of it), of its pool and of its owner's bound."""
    free = Resources(cpu=sum(cpu for cpu, _ in room), memory=sum(memory for _, memory in room)) * part
    queue = Queue("default", free, free=free, total=free)
    rooms = NodeRooms(Snapshot(0.0, (queue,), (), nodes=node_table([list(each) for each in room])))
    nodes = rooms.shapes(queue, [PodGroup(str(n), Role.TASK, asked) for n, (asked, _, _) in enumerate(requests)])
    shapes = [RequestShape(asked, need, side, node) for (asked, side, need), node in zip(requests, nodes, strict=True)]
    sums = SumRoom(queue, free, [shape.request for shape in shapes])
    bound = OwnersBound(Pool("default", Resources(cpu=1), 8.0, 8.0, high=share), free, (), {})
    headroom = dict(slots)
    lazily = OpenRequests(shapes, sums, rooms, bound, headroom)
    going = set(range(len(shapes)))
    for pick in [None, *picks]:
        if pick in going:
            shape = shapes[pick]
            rooms.take(shape.node)
            sums.take(pick)
            headroom[shape.category] -= shape.slots
            bound.take(shape.category, shape.request)
        closed = set(lazily.sift())
        assert closed == {
            number
            for number in going
            if not (
                shapes[number].slots <= headroom[shapes[number].category] + TOLERANCE
                and sums.fits(number)
                and bound.allows(shapes[number].category, shapes[number].request)
                and rooms.fits(shapes[number].node)
            )
        }
        going -= closed
