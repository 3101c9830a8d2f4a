"""`helm test`: the extender must be ready, show a good certificate, and turn strangers away."""

import os
import ssl
import sys
import urllib.error
import urllib.request

TIMEOUT = 5.0


def ask(url: str, trusted: ssl.SSLContext, body: bytes | None = None) -> tuple[int, str]:
    """Status and text of one request; a POST where there is a body."""
    # S310 asks about the scheme: the URL is the chart's own, always https.
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT, context=trusted) as reply:  # noqa: S310
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def problems(url: str, trusted: ssl.SSLContext) -> list[str]:
    """What is wrong, in sentences; empty when all is well."""
    try:
        ready, text = ask(f"{url}/readyz", trusted)
        strange, _ = ask(f"{url}/filter", trusted, b"{}")
    except OSError as problem:
        return [f"the extender does not answer at {url}: {problem}"]
    found = [] if ready == 200 else [f"the extender is not ready: {text}"]
    if strange != 401:
        found.append(f"the extender answered {strange} to a caller without certificate or token; 401 was expected")
    sys.stdout.write(f"{text}\n")
    return found


if __name__ == "__main__":
    wrong = problems(os.environ["SLACKWATER_URL"], ssl.create_default_context(cafile=os.environ["SLACKWATER_CA"]))
    sys.exit("\n".join(wrong) if wrong else 0)
