"""The file's defaults: what a case takes over from its eval file.

In: a case and the keys of its file. Out: the values that both of them contribute to. Pure; only `loader` calls it.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.evalfile.frozen_dict import FrozenDict, freeze
from pytest_chatprompt.evalfile.shared_keys import SharedKeys

# AgentV's name for the default provider.
_DEFAULT_TARGET: Final = "default"
# All cases without metadata share it; it is read-only.
_NO_METADATA: Final = FrozenDict()


def merge_with_file(case: EvalCase, file: SharedKeys) -> dict[str, Any]:
    """Merge the values of a case with the defaults of its file.

    Args:
        case: as the author wrote it.
        file: the keys of the file.

    Returns:
        The merged values by attribute: tags add up, `metadata`, `settings` and `vars` are merged key by key, otherwise
        the case's own value wins. `guideline_patterns` is `None` if neither sets any.
    """
    # A system prompt of null is not set, so the file's shows through.
    own_metadata = {key: value for key, value in case.metadata.items() if key != "systemPrompt" or value is not None}
    metadata = {**file.metadata, **own_metadata}
    return {
        "provider": _provider(case, file),
        "metadata": freeze(metadata) if metadata else _NO_METADATA,
        "guideline_patterns": file.guideline_patterns if case.guideline_patterns is None else case.guideline_patterns,
        "tags": tuple(dict.fromkeys((*file.tags, *case.tags))),
        "outcome": case.expected_outcome if case.outcome is None else case.outcome,
        **_request_options(case, file),
        **_repeats(case, file),
        **_variables(case, file),
    }


def _request_options(case: EvalCase, file: SharedKeys) -> dict[str, Any]:
    """The settings, tools, tool choice and format that come from the file; empty if none does."""
    merged: dict[str, Any] = {}
    if file.settings is not None and case.settings is None:
        merged["settings"] = file.settings
    elif file.settings is not None and case.settings is not None:
        # Most eval files have no settings.
        from pytest_chatprompt.evalfile.settings import merge_settings_of_case  # noqa: PLC0415

        merged["settings"] = merge_settings_of_case(file.settings, case.settings)
    if file.tools is not None and case.tools is None:
        merged["tools"] = file.tools
    # A case that has no tools at all has none to choose from.
    if file.tool_choice is not None and case.tool_choice is None and case.tools != ():
        merged["tool_choice"] = file.tool_choice
    if file.response_format is not None and case.response_format is None:
        merged["response_format"] = file.response_format
    return merged


def _repeats(case: SharedKeys, file: SharedKeys) -> dict[str, Any]:
    """`repeat` and `pass_rate` that come from the file; empty if neither does."""
    names = ("repeat", "pass_rate")
    return {name: getattr(file, name) for name in names if getattr(case, name) is None and getattr(file, name)}


def _variables(case: SharedKeys, file: SharedKeys) -> dict[str, Any]:
    """`vars` and `parametrize`; empty if neither is set, so that a case without variables costs nothing more."""
    parametrize = file.parametrize if case.parametrize is None else case.parametrize
    if case.vars is None and file.vars is None and parametrize is None:
        return {}
    return {"vars": freeze({**(file.vars or {}), **(case.vars or {})}), "parametrize": parametrize}


def _provider(*levels: SharedKeys) -> str | tuple[str, ...] | None:
    """The provider of the first level that names one, also as an AgentV target; `None` for the default provider."""
    for level in levels:
        if level.provider is not None:
            return level.provider
        target = (level.execution and level.execution.target) or level.target
        if target is not None:
            return None if target == _DEFAULT_TARGET else target
    return None
