# All of Slackwater's programs in one image:
#   docker build -t slackwater:0.1.0 .
# BASE may be any image with Python 3.11 to 3.13 and the same path to it in both stages.
ARG BASE=python:3.11-slim-bookworm@sha256:b18992999dbe963a45a8a4da40ac2b1975be1a776d939d098c647482bcad5cba

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
WORKDIR /source
RUN python3 -m venv /opt/slackwater && python3 -m venv /opt/build
# Dependencies first and by themselves: a change of our code then costs seconds. Every file must have one of the hashes
# that `make requirements` wrote down.
COPY image image
RUN /opt/build/bin/pip install --no-compile --require-hashes -r image/build.txt \
    && /opt/slackwater/bin/pip install --no-compile --require-hashes -r image/programs.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY core core
COPY cluster cluster
COPY extender extender
COPY operator operator
COPY simulator simulator
COPY monitor monitor
COPY cli cli
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/slackwater/bin/pip install --no-compile --no-deps /wheels/*.whl
# What no program of ours imports: an asynchronous copy of the Kubernetes client, numpy's Fortran tools, tests. The
# imports after it fail the build if one of them is wanted after all.
# Byte code is made here, checked against nothing at run time: the image's file system is read-only. The Kubernetes
# client's generated classes (a thousand files) are byte code alone.
RUN cd /opt/slackwater/lib/python3*/site-packages \
    && rm -rf kubernetes/aio numpy/f2py numpy/distutils \
    && find . -type d \( -name tests -o -name test \) -path '*/numpy/*' -prune -exec rm -rf {} + \
    && find . -name '*.pyi' -delete \
    && /opt/slackwater/bin/pip uninstall --yes --quiet pip setuptools \
    && export PYTHONDONTWRITEBYTECODE= SOURCE_DATE_EPOCH=0 && compile="/opt/slackwater/bin/python -m compileall -q --invalidation-mode unchecked-hash" \
    && $compile -b kubernetes/client/api kubernetes/client/models && find kubernetes/client/api kubernetes/client/models -name '*.py' -delete \
    && $compile . \
    && /opt/slackwater/bin/slackwater simulate "gen:hour?apps=2" -p slackwater -o json > /dev/null \
    && /opt/slackwater/bin/python -c "import slackwater_extender.program, slackwater_operator.program, slackwater_operator.webhook, slackwater_monitor.web.server"

FROM ${BASE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="slackwater" \
      org.opencontainers.image.description="Schedules batch pods into measured slack on the stock kube-scheduler" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/slackwater /opt/slackwater
# Any user may run it, also one without a name (a random id, as OpenShift gives): libraries ask for name and home.
ENV PATH=/opt/slackwater/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    LOGNAME=slackwater HOME=/tmp
USER 65532:65532
WORKDIR /
# Kubernetes asks by its own probes; this is for a container run by hand.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import os, ssl, urllib.request as web; web.urlopen(os.environ.get('SLACKWATER_HEALTH_URL', 'http://127.0.0.1:8480/healthz'), timeout=3, context=ssl._create_unverified_context())"]
CMD ["slackwater", "--help"]
