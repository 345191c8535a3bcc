"""What is known about the vendors' models: data for the rules that differ from model to model.

A model's name comes in, its `ModelLimits` come out. Each entry is a glob for names; the first that matches counts. An
unknown model breaks none of these rules. Users override the entries with the setting `model_limits`.
`chat.preflight_check` calls `find_limits`; each provider class names its table in `known_models`.

Sources: https://platform.claude.com/docs/en/about-claude/models/overview and the pages of the models there,
https://platform.claude.com/docs/en/api/errors#prefill-not-supported, https://platform.claude.com/docs/en/api/versioning;
https://platform.openai.com/docs/models, the pages of the models there, and
https://learn.microsoft.com/azure/ai-foundry/foundry-models/concepts/models-sold-directly-by-azure;
https://ai.google.dev/gemini-api/docs/models and the pages of the models there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What a model accepts; `None` where that is not known, and then the model breaks no rule about it.

    Args:
        max_output_tokens: the largest `max_output_tokens` that it accepts.
        prefill: whether it continues a final assistant message.
        temperature: whether it accepts a temperature other than the default.
        max_tokens: whether it accepts the older name `max_tokens` for the largest number of tokens.
        thought_signatures: whether it refuses its own tool calls when they are sent back without thought signatures.
    """

    max_output_tokens: int | None = None
    prefill: bool | None = None
    temperature: bool | None = None
    max_tokens: bool | None = None
    thought_signatures: bool | None = None

    def updated_with(self, other: ModelLimits) -> ModelLimits:
        """Return these limits, replaced by the other ones wherever those are known."""
        if other == UNKNOWN:
            return self
        values = {field.name: getattr(other, field.name) for field in fields(other)}
        return replace(self, **{name: value for name, value in values.items() if value is not None})


UNKNOWN: Final = ModelLimits()

ANTHROPIC_MODELS: Final[Mapping[str, ModelLimits]] = {
    "claude-3*": ModelLimits(),
    "claude-*-4-5*": ModelLimits(max_output_tokens=64_000, prefill=True, temperature=True),
    "claude-*-4-6*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=True),
    "claude-*-4-[78]*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
    "claude-mythos-preview*": ModelLimits(prefill=False),
    "claude-*-5*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
}

# gpt-5.1 and 5.2 accept a temperature as long as they do not reason, which cannot be seen in a body: not known.
OPENAI_MODELS: Final[Mapping[str, ModelLimits]] = {
    "gpt-4o-2024-05-13": ModelLimits(max_output_tokens=4_096, temperature=True),
    "gpt-4o*": ModelLimits(max_output_tokens=16_384, temperature=True),
    "gpt-4.1*": ModelLimits(max_output_tokens=32_768, temperature=True),
    "gpt-4-turbo*": ModelLimits(max_output_tokens=4_096, temperature=True),
    "o1-preview*": ModelLimits(max_output_tokens=32_768, temperature=False, max_tokens=False),
    "o1-mini*": ModelLimits(max_output_tokens=65_536, temperature=False, max_tokens=False),
    "o[134]*": ModelLimits(max_output_tokens=100_000, temperature=False, max_tokens=False),
    "gpt-5*-chat*": ModelLimits(max_output_tokens=16_384),
    "gpt-5.[12]*": ModelLimits(max_output_tokens=128_000, max_tokens=False),
    "gpt-5*": ModelLimits(max_output_tokens=128_000, temperature=False, max_tokens=False),
    "gpt-6-astra*": ModelLimits(max_output_tokens=128_000, temperature=False, max_tokens=False),
}

GEMINI_MODELS: Final[Mapping[str, ModelLimits]] = {
    "gemini-2.0-flash*": ModelLimits(max_output_tokens=8_192),
    "gemini-2.5-flash-lite*": ModelLimits(max_output_tokens=65_536),
    "gemini-3*-lite*": ModelLimits(thought_signatures=True),
    "gemini-3*": ModelLimits(max_output_tokens=65_536, thought_signatures=True),
}

# Bedrock's names of Anthropic's models have its region and vendor in front, or are the end of an ARN.
BEDROCK_MODELS: Final[Mapping[str, ModelLimits]] = {
    f"*anthropic.{glob}": limits for glob, limits in ANTHROPIC_MODELS.items()
}


def find_limits(model: str, known: Mapping[str, ModelLimits]) -> ModelLimits:
    """Look up what is known about a model.

    Args:
        model: the model's name; upper and lower case are the same.
        known: limits by glob, such as `ANTHROPIC_MODELS`; the first glob that matches counts.

    Returns:
        Its limits; `UNKNOWN` if no glob matches.
    """
    glob = _first_match(model, tuple(known))
    return UNKNOWN if glob is None else known[glob]


@lru_cache(maxsize=256)
def _first_match(model: str, globs: tuple[str, ...]) -> str | None:
    """The first of the globs that matches a model's name; a run asks for few models, many times each."""
    return next((glob for glob in globs if fnmatchcase(model.lower(), glob)), None)
