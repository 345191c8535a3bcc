"""The options of a request: its settings for one provider, its tools, tool choice and response format.

In: a case, the run's file reader and the provider's name. Out: the values, checked and frozen, as a `ProviderRequest`
holds them; what stands in a file of its own is read when the case runs (rules F).
Only `request.build_request` calls it.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.prompt.file_reader import FileReader

# The keys whose value may be in a file of its own.
_FILE_KEYS: Final = ("tools", "response_format")


def request_options(case: EvalCase, reader: FileReader, provider_name: str | None) -> dict[str, Any]:
    """The options that a case or its file sets.

    Args:
        case: a case that was read from an eval file.
        reader: the run's file reader.
        provider_name: the name by which the provider was asked for; `None` leaves out the settings of all providers.

    Returns:
        The values by the fields of `ProviderRequest`; empty if none is set.

    Raises:
        EvalFileError: a file with tools or a format cannot be used.
    """
    options: dict[str, Any] = {}
    if case.settings is not None:
        # Most cases have no settings.
        from pytest_chatprompt.evalfile.settings import settings_for  # noqa: PLC0415

        options["settings"] = settings_for(provider_name, case.settings)
    if case.tool_choice is not None:
        options["tool_choice"] = case.tool_choice
    for key in _FILE_KEYS:
        value = getattr(case, key)
        if value is not None:
            options[key] = _read_file(case, reader, key, value) if isinstance(value, str) else value
    return options


def _read_file(case: EvalCase, reader: FileReader, key: str, value: str) -> Any:
    # Most cases name no such file.
    from pytest_chatprompt.prompt.option_files import read_option_file  # noqa: PLC0415

    return read_option_file(case, reader, key, value)
