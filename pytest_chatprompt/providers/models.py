"""What is known of the vendors' models: data for the rules that differ from model to model.

Each entry is a glob for models' names and what is known of those that it matches; the first that matches counts. A
model that none matches is not known, and no rule says anything of it. Users set `model_limits` over it.

Sources: https://platform.claude.com/docs/en/about-claude/models/overview and the pages of the models there,
https://platform.claude.com/docs/en/api/errors#prefill-not-supported, https://platform.claude.com/docs/en/api/versioning;
https://platform.openai.com/docs/models, the pages of the models there, and
https://learn.microsoft.com/azure/ai-foundry/foundry-models/concepts/models-sold-directly-by-azure;
https://ai.google.dev/gemini-api/docs/models and the pages of the models there.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from pytest_chatprompt.preflight import ModelLimits

UNKNOWN: Final = ModelLimits()

ANTHROPIC_MODELS: Final[Mapping[str, ModelLimits]] = {
    "claude-3*": ModelLimits(),
    "claude-*-4-5*": ModelLimits(max_output_tokens=64_000, prefill=True, temperature=True),
    "claude-*-4-6*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=True),
    "claude-*-4-[78]*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
    "claude-mythos-preview*": ModelLimits(prefill=False),
    "claude-*-5*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
}

# gpt-5.1 and 5.2 take a temperature as long as they do not reason, which a body does not tell: left open.
OPENAI_MODELS: Final[Mapping[str, ModelLimits]] = {
    "gpt-4o-2024-05-13": ModelLimits(max_output_tokens=4_096, temperature=True),
    "gpt-4o*": ModelLimits(max_output_tokens=16_384, temperature=True),
    "gpt-4.1*": ModelLimits(max_output_tokens=32_768, temperature=True),
    "gpt-4-turbo*": ModelLimits(max_output_tokens=4_096, temperature=True),
    "o1-preview*": ModelLimits(max_output_tokens=32_768, temperature=False),
    "o1-mini*": ModelLimits(max_output_tokens=65_536, temperature=False),
    "o[134]*": ModelLimits(max_output_tokens=100_000, temperature=False),
    "gpt-5*-chat*": ModelLimits(max_output_tokens=16_384),
    "gpt-5.[12]*": ModelLimits(max_output_tokens=128_000),
    "gpt-5*": ModelLimits(max_output_tokens=128_000, temperature=False),
    "gpt-6-astra*": ModelLimits(max_output_tokens=128_000, temperature=False),
}

GEMINI_MODELS: Final[Mapping[str, ModelLimits]] = {
    "gemini-2.0-flash*": ModelLimits(max_output_tokens=8_192),
    "gemini-2.5-flash-lite*": ModelLimits(max_output_tokens=65_536),
    "gemini-3*-lite*": ModelLimits(thought_signatures=True),
    "gemini-3*": ModelLimits(max_output_tokens=65_536, thought_signatures=True),
}


def limits_of(model: str, known: Mapping[str, ModelLimits]) -> ModelLimits:
    """What is known of a model.

    Args:
        model: its name, in whatever case.
        known: globs and limits, the first that matches first.
    """
    return next((limits for glob, limits in known.items() if fnmatchcase(model.lower(), glob)), UNKNOWN)
