"""From a pydantic model to the structural OpenAPI schema a CustomResourceDefinition wants.

Pydantic writes JSON Schema 2020-12 with references; Kubernetes wants OpenAPI 3.0 without any. The differences are few:
references are put in place, "or null" becomes optional, and an exclusive bound is a flag beside the bound.
"""

from collections.abc import Mapping
from typing import Any, cast

from slackwater_cluster.customresources.base import Part

Schema = dict[str, Any]

# Keys pydantic adds that the API server refuses or that say nothing.
DROPPED = ("title", "$defs", "const", "discriminator")
RULES = "x-kubernetes-validations"


def structural(model: type[Part]) -> Schema:
    """The model's schema as a CustomResourceDefinition may carry it."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _place(raw, raw.get("$defs", {}))


def _place(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """One node of the schema with references, nulls and bounds rewritten, and its children likewise."""
    node = _or_null(_referred(node, definitions), definitions)
    result: Schema = {key: value for key, value in node.items() if key not in DROPPED}
    if result.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        return result
    _bounds(result)
    if "properties" in result:
        result["properties"] = {name: _place(child, definitions) for name, child in result["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = _place(result[key], definitions)
    return result


def _referred(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The node with what it refers to put in its place; what it says itself wins."""
    reference = node.get("$ref") or next((part["$ref"] for part in node.get("allOf", []) if "$ref" in part), None)
    if reference is None:
        return node
    own = {key: value for key, value in node.items() if key not in {"$ref", "allOf"}}
    return _joined(_referred(definitions[cast("str", reference).rsplit("/", 1)[-1]], definitions), own)


def _or_null(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Write "X or null" as plain X: an optional field is left out, not written as null."""
    if "anyOf" not in node or node.get("x-kubernetes-int-or-string"):
        return node
    real = [part for part in node["anyOf"] if part.get("type") != "null"]
    own = {key: value for key, value in node.items() if key != "anyOf"}
    if own.get("default", ...) is None:
        del own["default"]
    return _joined(_referred(real[0], definitions), own)


def _joined(base: Schema, own: Schema) -> Schema:
    """The base with what a field says about it: its word wins, its CEL rules are added."""
    both = [*base.get(RULES, []), *own.get(RULES, [])]
    return {**base, **own, **({RULES: both} if both else {})}


def _bounds(node: Schema) -> None:
    """Write an exclusive bound the OpenAPI 3.0 way."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in node:
            node[bound] = node[exclusive]
            node[exclusive] = True


def filled(node: Schema) -> Schema:
    """The schema with a complete default for each optional object and list.

    Complete, not `{}`: the API server tests a default against the CEL rules before it fills in what lies deeper.
    """
    for name, child in node.get("properties", {}).items():
        filled(child)
        if name not in node.get("required", []) and child.get("type") in ("object", "array"):
            child.setdefault("default", [] if child["type"] == "array" else _default(child))
    if isinstance(node.get("items"), dict):
        filled(node["items"])
    return node


def _default(node: Schema) -> Schema:
    """The defaults of an object's fields together."""
    return {name: child["default"] for name, child in node.get("properties", {}).items() if "default" in child}
