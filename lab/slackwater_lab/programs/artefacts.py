"""`python -m slackwater_lab.programs.artefacts`: everything that a release publishes, into dist/, up to the push.

dist/python has wheel and source archive, dist/chart the packaged chart, dist/notes.md what the changelog says of this
version. The packages are checked as the index will check them. SLACKWATER_REPOSITORY_URL and SLACKWATER_IMAGE say
where project and image will be found; without them the package names no address, and the chart asks for `slackwater`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from slackwater import __version__
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import binary, built
from slackwater_lab.programs.programs import program

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "slackwater"
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def packages(folder: Path) -> list[Path]:
    """Build the source archive, and the wheel from that archive, with the builder of constraints.txt; check both."""
    run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)],
        environment={"PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
    )
    made = sorted(folder.iterdir())
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, made)])
    return made


def chart(folder: Path, image: str) -> Path:
    """Package the chart; its image is the one of the release, so that nobody has to name it."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / CHART.name
        shutil.copytree(CHART, copy)
        values = copy / "values.yaml"
        values.write_text(with_image(values.read_text(encoding="utf-8"), image), encoding="utf-8")
        run([helm(), "package", str(copy), "--destination", str(folder)])
    return folder / f"{CHART.name}-{__version__}.tgz"


def with_image(values: str, image: str) -> str:
    """The chart's values with `registry/owner/name` as the image of our programs; empty: as they are."""
    if not image:
        return values
    registry, _, repository = image.rpartition("/")
    standing = 'image:\n  registry: ""\n  repository: slackwater\n'
    if values.count(standing) != 1:
        raise ValueError("values.yaml no longer has the image's registry and repository where they were looked for")
    return values.replace(standing, f'image:\n  registry: "{registry}"\n  repository: {repository}\n')


def helm() -> str:
    """The lab's helm, or the one on the path."""
    own = binary(program("helm"))
    return str(own) if own.exists() else shutil.which("helm") or built("helm")


def notes(changelog: str, version: str) -> str:
    """What the changelog says of a version; before its heading is written, what is not released yet."""
    _, *parts = HEADING.split(changelog)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    heading = next((name for name in sections if name.split()[0].strip("[]") == version), next(iter(sections)))
    return sections[heading].strip() + "\n"


def main() -> None:
    """Make dist/ anew and say what is in it."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "chart").mkdir(parents=True)
    packages(folder / "python")
    chart(folder / "chart", os.environ.get("SLACKWATER_IMAGE", ""))
    text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)
    (folder / "notes.md").write_text(text, encoding="utf-8")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        sys.stdout.write(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.2f} MB\n")


if __name__ == "__main__":
    main()
