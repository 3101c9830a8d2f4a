"""Where the API server is and how we prove who we are: a kubeconfig, or the service account of the pod we run in."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from slackwater.errors import Unavailable
from slackwater.validation import fault
from slackwater_cluster.api.authority import RenewedContext


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An API server. `headers` is asked for each request, because service account tokens are renewed hourly."""

    url: str
    tls: ssl.SSLContext | bool
    headers: Callable[[], Mapping[str, str]]
    proxy: str | None = None  # where the kubeconfig says that the way leads through one

    def proof(self) -> Mapping[str, str]:
        """The headers that prove who we are. A token that cannot be read, or a plugin that fails, may work later."""
        try:
            return self.headers()
        except Unavailable:
            raise
        except Exception as problem:  # whatever a plugin of the client library may raise
            raise Unavailable(f"API server: no proof of who we are: {type(problem).__name__}: {problem}") from problem


# What the client library calls an invalid file that holds nothing.
NOWHERE = "no cluster is known (neither $KUBECONFIG nor ~/.kube/config names one)"
NAME_ONE = "give --kubeconfig FILE"


class NoClusterKnown(Unavailable):
    """Nothing on this machine names a cluster."""

    def __init__(self) -> None:
        super().__init__(f"{NOWHERE}; {NAME_ONE}")


def endpoint(kubeconfig: Path | None = None, context: str | None = None) -> Endpoint:
    """The given kubeconfig, else the pod's own service account, else the user's kubeconfig ($KUBECONFIG, ~/.kube)."""
    if kubeconfig is not None and not kubeconfig.exists():
        raise Unavailable(f"there is no kubeconfig {kubeconfig}; {_elsewhere(kubeconfig)}")
    settings = client.Configuration()
    settings.proxy = None  # that of the environment is not meant for a cluster's own addresses
    try:
        if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ and not os.environ.get("KUBECONFIG"):
            # The client library has no types.
            config.load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
        else:
            _load(str(kubeconfig) if kubeconfig else None, context, settings)
    except Unavailable:
        raise
    except Exception as problem:  # whatever the client library and PyYAML raise about a file
        if kubeconfig is None and "No configuration found" in str(problem):
            raise NoClusterKnown from problem
        said = fault(problem).rstrip(".")
        raise Unavailable(f"no usable Kubernetes configuration ({said}); {NAME_ONE}") from problem
    return Endpoint(settings.host.rstrip("/"), _tls(settings), _headers(settings), _proxy(settings))


def _elsewhere(kubeconfig: Path) -> str:
    """What to do about a path, by where it comes from."""
    if os.environ.get("KUBECONFIG") == str(kubeconfig):
        return "the variable KUBECONFIG names it: unset it or let it name a file, or give --kubeconfig FILE"
    return "give --kubeconfig another path, or leave it out"


def _load(path: str | None, context: str | None, settings: client.Configuration) -> None:
    """Read a kubeconfig; a context that it has not is refused with those that it has."""
    try:
        config.load_kube_config(path, context, settings)  # type: ignore[no-untyped-call]
    except ConfigException as problem:
        names = _contexts(path)
        if context is None or not names or context in names:
            raise
        told = f"the kubeconfig has no context {context!r}; give --context one of: {', '.join(names)}"
        raise Unavailable(told) from problem


def _contexts(path: str | None) -> list[str]:
    """The contexts of a kubeconfig; none where the client library does not list them without a current one."""
    try:
        found, _ = config.list_kube_config_contexts(path)  # type: ignore[no-untyped-call]
    except ConfigException:
        return []
    known: Any = found
    return [str(each["name"]) for each in known]


def _proxy(settings: client.Configuration) -> str | None:
    """The kubeconfig's `proxy-url`. It may hold a password, so it is not repeated where it is refused."""
    if not settings.proxy:
        return None
    try:
        found = urlsplit(settings.proxy)
        usable = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        usable = False
    if not usable:
        told = "the kubeconfig's proxy-url is no http://HOST:PORT or https://HOST:PORT"
        raise Unavailable(f"{told}; others, such as socks5, are not used")
    return str(settings.proxy)


def _headers(settings: client.Configuration) -> Callable[[], Mapping[str, str]]:
    def headers() -> Mapping[str, str]:
        # Runs the configuration's refresh hook: re-reads a mounted token, re-runs an exec plugin when its token ends.
        token = settings.get_api_key_with_prefix("BearerToken", alias="authorization")
        return {"Authorization": token} if token else {}

    return headers


class _NamedContext(ssl.SSLContext):
    """Asks for the certificate of a stated name, whatever host is connected to (`tls-server-name`)."""

    server_name: str

    def wrap_bio(self, *given: Any, **more: Any) -> ssl.SSLObject:
        return super().wrap_bio(*given, **{**more, "server_hostname": self.server_name})

    def wrap_socket(self, *given: Any, **more: Any) -> ssl.SSLSocket:
        return super().wrap_socket(*given, **{**more, "server_hostname": self.server_name})


def _context(settings: client.Configuration) -> ssl.SSLContext:
    if not settings.tls_server_name:
        return ssl.create_default_context(cafile=settings.ssl_ca_cert or None)
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = settings.tls_server_name
    if settings.ssl_ca_cert:
        context.load_verify_locations(settings.ssl_ca_cert)
    else:
        context.load_default_certs()
    return context


def _tls(settings: client.Configuration) -> ssl.SSLContext | bool:
    if not settings.host.startswith("https"):
        return False
    if not settings.ssl_ca_cert:
        return _judging(settings)
    return RenewedContext.of(Path(settings.ssl_ca_cert), partial(_judging, settings))


def _judging(settings: client.Configuration) -> ssl.SSLContext:
    context = _context(settings)
    if not settings.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file or None)
    return context
