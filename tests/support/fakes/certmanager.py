"""Stands for cert-manager: signs what the chart's Certificates ask for, and writes authorities into registrations.

By openssl, so that a name or a use that was not asked for is really refused in a handshake.
"""

from __future__ import annotations

import base64
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from support.lab.chart import Object, named

GROUP = "cert-manager.io"
INJECT = f"{GROUP}/inject-ca-from"
USAGES = {"server auth": "serverAuth", "client auth": "clientAuth"}
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
# What the Secret of a Certificate holds.
KEYS = frozenset({"ca.crt", "tls.crt", "tls.key"})


@dataclass
class CertManager:
    """One that acts on everything of a rendering at once. `outside` are issuers that the cluster has of its own."""

    folder: Path
    items: list[Object]
    outside: tuple[str, ...] = ()
    _made: dict[str, Path] = field(default_factory=dict)  # by the Secret's name

    def secret(self, name: str) -> Path:
        """A folder with the files of a Secret, as a pod that mounts it sees them."""
        if name not in self._made:
            (wanted,) = [each["spec"] for each in self._certificates() if each["spec"]["secretName"] == name]
            self._made[name] = _sign(self.folder / name, wanted, self._signer(wanted["issuerRef"]))
        return self._made[name]

    def injected(self, name: str) -> list[Object]:
        """The webhooks of a registration after the authority was written into each."""
        about = named(self.items, "MutatingWebhookConfiguration", name)
        namespace, _, certificate = about["metadata"]["annotations"][INJECT].partition("/")
        wanted = named(self._certificates(), "Certificate", certificate)
        assert wanted["metadata"]["namespace"] == namespace
        authority = (self.secret(wanted["spec"]["secretName"]) / "ca.crt").read_bytes()
        bundle = base64.b64encode(authority).decode()
        return [{**each, "clientConfig": {**each["clientConfig"], "caBundle": bundle}} for each in about["webhooks"]]

    def _certificates(self) -> list[Object]:
        return [each for each in self.items if each["kind"] == "Certificate"]

    def _signer(self, reference: Object) -> Path | None:
        """Who signs; None: every certificate its own."""
        assert reference["group"] == GROUP
        if reference["name"] in self.outside:
            return self._house(reference["name"])
        issuer = named(self.items, reference["kind"], reference["name"])["spec"]
        return None if "selfSigned" in issuer else self.secret(issuer["ca"]["secretName"])

    def _house(self, name: str) -> Path:
        """The authority of an issuer that is not ours."""
        if name not in self._made:
            self._made[name] = _sign(self.folder / name, {"commonName": name, "isCA": True}, None)
        return self._made[name]


def _sign(place: Path, spec: Object, signer: Path | None) -> Path:
    """A key, its certificate and the authority's, as a Secret holds them."""
    place.mkdir()
    (place / "empty.cnf").write_text("[req]\ndistinguished_name=dn\n[dn]\n")  # nothing that was not asked for
    line = ["openssl", "req", "-x509", "-config", "empty.cnf", *KEY, "-days", "2", "-subj", f"/CN={spec['commonName']}"]
    line += [word for key, value in _extensions(spec).items() for word in ("-addext", f"{key}={value}")]
    if signer:
        line += ["-CA", str(signer / "tls.crt"), "-CAkey", str(signer / "tls.key")]
    line += ["-keyout", "tls.key", "-out", "tls.crt"]
    done = subprocess.run(line, cwd=place, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (place / "ca.crt").write_bytes((signer / "ca.crt" if signer else place / "tls.crt").read_bytes())
    return place


def _extensions(spec: Object) -> dict[str, str]:
    """What a certificate is good for, in openssl's words."""
    if spec.get("isCA"):
        return {
            "basicConstraints": "critical,CA:TRUE",
            "keyUsage": "critical,keyCertSign",
            "subjectKeyIdentifier": "hash",
        }
    assert "digital signature" in spec["usages"]
    return {
        "basicConstraints": "critical,CA:FALSE",
        "keyUsage": "critical,digitalSignature",
        "extendedKeyUsage": ",".join(USAGES[each] for each in spec["usages"] if each in USAGES),
        "subjectAltName": ",".join(f"DNS:{name}" for name in spec["dnsNames"]),
        "authorityKeyIdentifier": "keyid:always",
    }
