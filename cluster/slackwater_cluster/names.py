"""Every label, annotation, gate and name that Slackwater reads or writes in Kubernetes, in one place."""

from typing import Final

GROUP: Final = "slackwater.io"
VERSION: Final = "v1alpha1"
PREFIX: Final = "slackwater.io/"

# The scheduler profile that managed pods name.
SCHEDULER: Final = "slackwater"
# The one gate: it holds a pod until the operator releases it.
GATE: Final = "slackwater.io/admission"

# Labels of a namespace: whether it is managed, and which SlackPolicy applies ("default" when it names none).
MANAGED: Final = "slackwater.io/managed"
POLICY: Final = "slackwater.io/policy"

# Annotations sealed at creation by the admission policy.
DECLARED_CPU: Final = "slackwater.io/declared-cpu"
DECLARED_MEMORY: Final = "slackwater.io/declared-memory"
ADMITTED_ROLE: Final = "slackwater.io/admitted-role"
SHRUNK: Final = "slackwater.io/shrunk"  # "200/150": the ceiling in percent, cpu/memory, at the pod's creation

# Annotation written by the operator: the filter refuses the pod until it is gone (a gate cannot be put back).
PARKED: Final = "slackwater.io/parked"

# Labels or annotations that users may set.
ROLE: Final = "slackwater.io/role"
APP: Final = "slackwater.io/app"
STAGE: Final = "slackwater.io/stage"

DRIVER: Final = "driver"
TASK: Final = "task"
UNKNOWN: Final = "unknown"

# The rest of what users may set on pods: how their app is built, and how large it will be before its tasks exist.
PARENTS: Final = "slackwater.io/parents"  # stages this one waits for, separated by commas
DAG: Final = "slackwater.io/dag"  # "strict": children are released after their parents were bound
ITERATIVE: Final = "slackwater.io/iterative"  # total number of stages of an iterative app, 0 when not known
GANG: Final = "slackwater.io/gang"  # "true": all pods of the app start together or none does
TASKS: Final = "slackwater.io/tasks"
TASK_CPU: Final = "slackwater.io/task-cpu"
TASK_MEMORY: Final = "slackwater.io/task-memory"
# Annotation of a queue, or of any pod of an app: "true" lets nothing new go, "drain" lets started apps finish.
PAUSE: Final = "slackwater.io/pause"
# Written by the operator on held pods: the class of the reason, never a number (a number would change too often).
REASON: Final = "slackwater.io/reason"
# On the operator's Lease: when it was last renewed by a leader whose release loop turned; NEVER before the first turn.
TURNED: Final = "slackwater.io/turned"
NEVER: Final = "never"

# Who says one of these asks for more than room: its pods are held even while the gate is open for tasks.
ALWAYS_HELD: Final = (GANG, PARENTS, DAG, PAUSE)

SEALED: Final = (DECLARED_CPU, DECLARED_MEMORY, ADMITTED_ROLE, SHRUNK)
# The PriorityClass of our own programs: above every workload, so nobody else may name it.
CONTROL_PRIORITY: Final = "slackwater-control"
DEFAULT_POLICY: Final = "default"
SYSTEM_NAMESPACE: Final = "slackwater-system"
WATCHDOG_HOME: Final = "kube-system"  # the namespace of the watchdog, unless the chart is told another
API_VERSION: Final = f"{GROUP}/{VERSION}"
EXTENDER_PORT: Final = 8480  # where the extender listens and the operator asks; the chart's default, too

# The resource and verb of our own that say, in plain RBAC, who may lift a gate or park a pod.
RELEASE_RESOURCE: Final = "gates"
RELEASE_VERB: Final = "release"

# Paper 003 on a live cluster: what a finished or running parent leaves on its node (a quantity of bytes, annotation of
# the pod), and how fast a node sends and receives (a quantity of bytes per second, annotation of the node).
OUTPUT: Final = "slackwater.io/output"
BANDWIDTH: Final = "slackwater.io/bandwidth"

# Every annotation that users may set and that is read; another one under our prefix means nothing.
STATED: Final = (
    *(APP, STAGE, PARENTS, DAG, ITERATIVE, GANG, TASKS, TASK_CPU, TASK_MEMORY, PAUSE),
    *(OUTPUT, BANDWIDTH),
)
# Which instance of the extender a placement is asked of: the one whose rooms were decided on.
INSTANCE_HEADER: Final = "X-Slackwater-Instance"
# The extender's words for a pod that its watch does not show (yet), or no more: no lack of room.
UNKNOWN_POD: Final = "slackwater: pod not known yet"
