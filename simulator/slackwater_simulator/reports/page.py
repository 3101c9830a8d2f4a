"""One self-contained page: summary, comparison, timelines, efficiency and nodes. No script, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from slackwater_simulator.reports import curves, figures
from slackwater_simulator.reports.figures import Figure, policy_css
from slackwater_simulator.reports.table import LINES, notes, percent, seconds
from slackwater_simulator.results.metrics import Metrics, measure
from slackwater_simulator.results.outcome import Outcome


def write(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the page into a folder, which is made if need be, and say where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    path.write_text(render(outcomes), encoding="utf-8")
    return path


def render(outcomes: Sequence[Outcome]) -> str:
    """The page as text. Same outcomes, same text: wall times are left out."""
    first = outcomes[0]
    end = max(curves.horizon(outcome) for outcome in outcomes)
    title = f"{first.workload.name} on {first.cluster.name}"
    style = files("slackwater_simulator.reports").joinpath("page.css").read_text(encoding="utf-8")
    body = "".join(
        (
            _header(outcomes),
            _cards(outcomes),
            _section("compare", "Comparison", _figures(figures.comparison(outcomes))),
            _timelines(outcomes, end),
            _efficiency(first),
            _nodes(outcomes, end),
            _section("numbers", "All numbers", _table(outcomes)),
            _section("basis", "What this rests on", _basis(outcomes)),
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{body}</main></body></html>\n"
    )


def _header(outcomes: Sequence[Outcome]) -> str:
    first = outcomes[0]
    containers = sum(job.tasks + (job.driver is not None) for job in first.workload.jobs)
    facts = (
        f"{len(first.workload.jobs):,} jobs",
        f"{containers:,} containers",
        f"{len(first.cluster):,} nodes ({first.cluster.name})",
        f"world {', '.join(dict.fromkeys(outcome.world for outcome in outcomes))}",
        f"seed {first.seed}",
    )
    links = "".join(
        f'<a href="#{name}">{text}</a>'
        for name, text in (("compare", "Comparison"), ("time", "Over time"), ("nodes", "Nodes"), ("numbers", "Numbers"))
    )
    return (
        f'<header><p class="brand">Slackwater simulation</p><h1>{escape(first.workload.name)}</h1>'
        f'<p class="facts">{" · ".join(escape(fact) for fact in facts)}</p>{_badge(first)}<nav>{links}</nav></header>'
    )


def _badge(outcome: Outcome) -> str:
    fields = [field for field, _ in outcome.workload.modelled]
    return f'<p class="modelled"><b>modelled</b> {escape(", ".join(fields))}</p>' if fields else ""


def _cards(outcomes: Sequence[Outcome]) -> str:
    return f'<div class="cards">{"".join(_card(index, outcome) for index, outcome in enumerate(outcomes))}</div>'


def _card(index: int, outcome: Outcome) -> str:
    metrics = measure(outcome)
    failed = f"{metrics.failures:,} failure{'s' if metrics.failures != 1 else ''}"
    shares = zip(("CPU", "memory"), metrics.allocated, strict=False)
    used = "".join(f"<span>{percent(share)} {kind} reserved</span>" for kind, share in shares)
    return (
        f'<div class="card {policy_css(index)}"><h2>{escape(outcome.policy)}</h2>'
        f'<p class="big">{_makespan(metrics)}</p>'
        f"<dl><dt>mean completion</dt><dd>{seconds(metrics.completion.mean)} s</dd>"
        f"<dt>mean wait</dt><dd>{seconds(metrics.wait.mean)} s</dd></dl>"
        f'<p class="fine">{used}<span>{failed}</span></p></div>'
    )


def _makespan(metrics: Metrics) -> str:
    if metrics.deadlock:
        return f'<span class="bad">deadlock</span><small> {metrics.finished:,} jobs done</small>'
    return f"{seconds(metrics.makespan)}<small> s makespan</small>"


def _section(name: str, title: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{body}</section>' if body else ""


def _figures(drawn: Iterable[Figure]) -> str:
    return f'<div class="grid">{"".join(_figure(figure) for figure in drawn)}</div>'


def _figure(figure: Figure) -> str:
    legend = "".join(f'<span><i class="{css}"></i>{escape(text)}</span>' for css, text in figure.legend)
    key = f'<div class="legend">{legend}</div>' if legend else ""
    kind = ' class="wide"' if figure.wide else ""
    return (
        f'<figure{kind}><h3>{escape(figure.title)}</h3>{key}<div class="scroll">{figure.svg}</div>'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _timelines(outcomes: Sequence[Outcome], end: float) -> str:
    tops = figures.largest(outcomes, end)
    blocks = "".join(
        f"{_policy_head(index, outcome)}{_figures(figures.timelines(outcome, end, tops))}"
        for index, outcome in enumerate(outcomes)
    )
    return _section("time", "Over time", blocks)


def _policy_head(index: int, outcome: Outcome) -> str:
    return f'<h3 class="policy {policy_css(index)}">{escape(outcome.policy)}</h3>'


def _efficiency(outcome: Outcome) -> str:
    drawn = list(figures.efficiencies(outcome))
    return _section("efficiency", "Requested and used", _figures(drawn)) if drawn else ""


def _nodes(outcomes: Sequence[Outcome], end: float) -> str:
    drawn = zip(outcomes, figures.nodes(outcomes, end), strict=True)
    blocks = (_policy_head(index, outcome) + _figures([figure]) for index, (outcome, figure) in enumerate(drawn))
    return _section("nodes", "Nodes", "".join(blocks))


def _table(outcomes: Sequence[Outcome]) -> str:
    measured = [measure(outcome) for outcome in outcomes]
    head = "".join(f'<th scope="col">{escape(outcome.policy)}</th>' for outcome in outcomes)
    rows = []
    for line in LINES:
        if line.label == "decisions":  # holds wall time, which differs from run to run
            continue
        cells = "".join(
            f"<td>{escape(line.cell(m, outcome))}</td>" for m, outcome in zip(measured, outcomes, strict=True)
        )
        inner = ' class="inner"' if line.label.startswith(" ") else ""
        rows.append(f'<tr><th scope="row"{inner}>{escape(line.label.strip())}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="fine">Triples are mean / median / 95th percentile. '
        "Small jobs ask for at most a tenth of the cluster.</p>"
    )


def _basis(outcomes: Sequence[Outcome]) -> str:
    lines = notes(outcomes)
    if not lines:
        return (
            "<p>Everything shown comes from the trace and the rules of the simulated world; nothing was modelled.</p>"
        )
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
