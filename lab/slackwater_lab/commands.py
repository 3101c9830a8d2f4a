"""The lab on the command line: `python -m slackwater_lab`, and `slackwater lab`."""

import shutil
import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from slackwater.errors import SlackwaterError, Unavailable
from slackwater_lab import status
from slackwater_lab.autoscaler.command import autoscaler
from slackwater_lab.controlplane.schedulers import Extender
from slackwater_lab.frameworks import imagefiles
from slackwater_lab.lab import Lab
from slackwater_lab.league.command import league
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan, without
from slackwater_lab.programs import build as builds
from slackwater_lab.programs import packages
from slackwater_lab.programs.programs import FRAMEWORKS, PROGRAMS, program
from slackwater_lab.site import Site, home, open_site

app = typer.Typer(
    help="A real control plane on this machine, loopback only.", no_args_is_help=True, add_completion=False
)
console = Console(highlight=False)
Name = Annotated[str | None, typer.Option("--name", help="Which lab; default $SLACKWATER_LAB, else main.")]


def _say(text: str) -> None:
    console.print(f"  {text}", soft_wrap=True, markup=False)


def _existing(name: str | None) -> Site:
    if not (home(name) / "ports.json").exists():
        raise Unavailable(f"there is no lab {home(name).name}; start one with `up`")
    return open_site(name)


@app.command()
def up(
    name: Name = None,
    nodes: Annotated[int, typer.Option(help="Number of simulated nodes.")] = 10,
    cpu: Annotated[str, typer.Option(help="CPUs of each simulated node.")] = "16",
    memory: Annotated[str, typer.Option(help="Memory of each simulated node.")] = "64Gi",
    real_nodes: Annotated[int, typer.Option(help="Number of real kubelets with containerd; needs root.")] = 0,
    real_cpu: Annotated[int, typer.Option(help="CPUs a real node claims; 0 is what the machine has.")] = 0,
    real_memory: Annotated[int, typer.Option(help="Memory a real node claims, in MiB; 0 as above.")] = 0,
    services: Annotated[bool, typer.Option(help="Names and Services for pods of real nodes.")] = False,
    unwanted: Annotated[str, typer.Option("--without", help="Parts to leave out, comma-separated.")] = "",
    extender_url: Annotated[str | None, typer.Option(help="Let our scheduler call this extender.")] = None,
    scrape: Annotated[str, typer.Option(help="Scrape interval of Prometheus.")] = "2s",
    operators: Annotated[int, typer.Option(help="2: a second operator stands by.")] = 1,
    values: Annotated[list[str] | None, typer.Option("--set", help="A value of the chart, as for helm.")] = None,
) -> None:
    """Build what is missing, start what does not run, and print where everything listens."""
    plan = Plan(
        parts=without(unwanted.split(",")),
        nodes=nodes,
        shape=Shape(cpu, memory, tainted=real_nodes > 0),
        real_nodes=real_nodes,
        capacity=Capacity(real_cpu, real_memory),
        services=services,
        extender=Extender(extender_url) if extender_url else None,
        scrape=scrape,
        operators=operators,
        values=tuple(values or ()),
    )
    begin = time.monotonic()
    lab = Lab(open_site(name), plan, _say).up()
    console.print(f"lab {lab.site.name} is up after {time.monotonic() - begin:.1f} s")
    console.print(f'  eval "$(python -m slackwater_lab env --name {lab.site.name})"', soft_wrap=True)


@app.command()
def down(
    name: Name = None,
    keep: Annotated[bool, typer.Option(help="Keep etcd's data, for the next `up`.")] = False,
) -> None:
    """Stop exactly what this lab started."""
    if not home(name).exists():
        console.print(f"there is no lab {home(name).name}")
        return
    lab = Lab(open_site(name))
    lab.down(keep)
    console.print(f"lab {lab.site.name} is down")


@app.command("status")
def show_status(name: Name = None) -> None:
    """Show the processes of this lab, where they listen, and the nodes."""
    console.print(status.table(Lab(_existing(name))))


@app.command()
def env(name: Name = None) -> None:
    """Print shell lines that point kubectl and the tests at this lab."""
    for key, value in status.variables(_existing(name)).items():
        typer.echo(f"export {key}={value}")


@app.command()
def build(names: Annotated[list[str] | None, typer.Argument(help="Programs; default all.")] = None) -> None:
    """Build programs into the cache that all clones share."""
    builds.build(names or [item.name for item in PROGRAMS], _say)


@app.command()
def frameworks(names: Annotated[list[str] | None, typer.Argument(help="Images; default all.")] = None) -> None:
    """Build images and operators of the frameworks into the cache, without a registry."""
    if not names:
        builds.build([item.name for item in FRAMEWORKS], _say)
    for path in imagefiles.make_all(names or imagefiles.NAMES, _say):
        _say(str(path))


@app.command("packages")
def install_packages() -> None:
    """Install the Debian packages that the lab needs; as root."""
    for name in packages.install():
        _say(f"installed {name}")


app.command()(league)
app.command()(autoscaler)


@app.command()
def tools() -> None:
    """Fetch what tests need beyond Python: helm by Go, Chromium and Prometheus of Debian, where possible."""
    if not helm_is_there():
        _attempt("helm", lambda: builds.build(["helm"], _say))
    _attempt("Debian packages", lambda: packages.install(packages.TESTING))


def helm_is_there() -> bool:
    """Whether a helm is on the path or built."""
    return shutil.which("helm") is not None or builds.binary(program("helm")).exists()


def _attempt(thing: str, fetch: Callable[[], object]) -> None:
    try:
        fetch()
    except (SlackwaterError, OSError) as problem:
        _say(f"{thing}: not fetched: {problem}")


def run() -> None:
    """Run the command line; errors of ours are sentences, not tracebacks."""
    try:
        app()
    except SlackwaterError as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, markup=False)
        raise SystemExit(1) from error
