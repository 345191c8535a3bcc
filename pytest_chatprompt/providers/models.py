"""What is known of the vendors' models: data for the rules that differ from model to model.

Each entry is a glob for models' names and what is known of those that it matches; the first that matches counts. A
model that none matches is not known, and no rule says anything of it. Users set `model_limits` over it.

Sources: https://platform.claude.com/docs/en/about-claude/models/overview and the pages of the models there,
https://platform.claude.com/docs/en/api/errors#prefill-not-supported, https://platform.claude.com/docs/en/api/versioning;
https://platform.openai.com/docs/models and the pages of the models there;
https://ai.google.dev/gemini-api/docs/models and the pages of the models there.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from pytest_chatprompt.preflight import ModelLimits

UNKNOWN: Final = ModelLimits()

ANTHROPIC_MODELS: Final[Mapping[str, ModelLimits]] = {
    "claude-*-4-5*": ModelLimits(max_output_tokens=64_000, prefill=True, temperature=True),
    "claude-*-4-6*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=True),
    "claude-*-4-[78]*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
    "claude-mythos-preview*": ModelLimits(prefill=False),
    "claude-*-5*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
}


def limits_of(model: str, known: Mapping[str, ModelLimits]) -> ModelLimits:
    """What is known of a model.

    Args:
        model: its name, in whatever case.
        known: globs and limits, the first that matches first.
    """
    return next((limits for glob, limits in known.items() if fnmatchcase(model.lower(), glob)), UNKNOWN)
