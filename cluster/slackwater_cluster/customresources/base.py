"""What all custom resources share: how a field is spelled, described, bounded and refused.

The pydantic models are the one source of truth. `schema.py` turns them into the CRD's OpenAPI schema, so the API server
refuses what the operator would not understand, with the sentence written beside the field here.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from slackwater.errors import InvalidInput
from slackwater_cluster.pods.quantities import MOST, parse_quantity

# What pydantic accepts as extra schema: plain JSON.
Extra = dict[str, JsonValue]


class Part(BaseModel):
    """A piece of a custom resource. Fields are snake_case here and camelCase in YAML; unknown ones are kept out."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    def body(self) -> dict[str, Any]:
        """The part as it is written to the API server: camelCase, plain JSON, nothing that is unset."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def rule(expression: str, message: str, **more: JsonValue) -> Extra:
    """One CEL validation with the sentence shown to whoever breaks it."""
    return {"rule": expression, "message": message, **more}


def rules(*each: Extra, **more: JsonValue) -> Extra:
    """Several CEL validations of one field or model, as extra schema."""
    return {"x-kubernetes-validations": list(each), **more}


def refined(*each: Extra) -> ConfigDict:
    """The configuration of a model whose fields must agree with each other."""
    return ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", json_schema_extra=rules(*each)
    )


def _countable(written: int | str) -> int | str:
    """Refuse what no round could count with: an object may be older than its definition's rules."""
    try:
        amount = parse_quantity(str(written))
    except InvalidInput as problem:
        raise ValueError(str(problem)) from problem
    if amount >= MOST:
        raise ValueError(f"{written} is beyond what Kubernetes can count; write it like 500m, 2 or 3Gi")
    return written


# An amount such as 4, "500m" or "16Gi". The API server sees an integer or a string; CEL refuses what is neither a
# quantity nor at least 0, naming what to write.
#
# An API server of 1.33 overlooks the maxLength of an integer-or-string. It reckons with strings as long as a whole
# request, and refuses a definition whose rules could take too long on them: so the rule reads the string once, and
# MOST_KINDS is as many amounts as it grants then.
MOST_KINDS = 15

Quantity = Annotated[
    int | str,
    AfterValidator(_countable),
    Field(
        json_schema_extra={
            "x-kubernetes-int-or-string": True,
            "maxLength": 32,
            "x-kubernetes-validations": [
                rule(
                    "type(self) == int ? self >= 0 : isQuantity(self) && !self.startsWith('-')",
                    "write a Kubernetes quantity of at least 0, for example 64, 500m or 256Gi",
                )
            ],
        }
    ),
]

# Amounts by kind of resource: {cpu: 64, memory: 256Gi, nvidia.com/gpu: 8}.
Amounts = Annotated[Mapping[str, Quantity], Field(json_schema_extra={"maxProperties": MOST_KINDS})]


class Condition(Part):
    """One condition, as every Kubernetes object reports them."""

    type: str = Field(max_length=316, description="CamelCase name of what is true or not.")
    status: str = Field(description="True, False or Unknown.", json_schema_extra={"enum": ["True", "False", "Unknown"]})
    reason: str = Field(min_length=1, max_length=1024, description="CamelCase word for why, stable for machines.")
    message: str = Field(default="", max_length=32768, description="One sentence for people.")
    last_transition_time: str = Field(
        description="When the status last changed.", json_schema_extra={"format": "date-time"}
    )
    observed_generation: int | None = Field(default=None, ge=0, description="The generation this was judged on.")


Conditions = Annotated[
    list[Condition],
    Field(
        default_factory=list,
        description="The latest judgements about this object.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]

ObservedGeneration = Annotated[
    int | None, Field(default=None, ge=0, description="The generation of the spec that this status speaks about.")
]
