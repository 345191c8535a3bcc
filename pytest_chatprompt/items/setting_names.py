"""Check that the provider names in `settings` exist; an unknown one would be ignored silently.

In: a case with settings, and the providers that it could ask for. Out: an `EvalFileError` for unknown names.
`code_case` calls it for the fixture `eval_request`, only for cases with settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_chatprompt.apis.table import PROVIDERS
from pytest_chatprompt.cases.case import EvalCase, option_diagnostic
from pytest_chatprompt.cases.request_options import provider_names
from pytest_chatprompt.errors import EvalFileError
from pytest_chatprompt.wording import did_you_mean


def check_setting_names(case: EvalCase, used_name: str, find_providers: Callable[[], Iterable[str]]) -> None:
    """Refuse settings under the name of an unknown provider.

    Args:
        case: its settings, merged with the file's.
        used_name: the name by which the provider was asked for, which need not have a fixture.
        find_providers: gives the names of all providers that have one; called for a name that is not built in.

    Raises:
        EvalFileError: there is such a name.
    """
    names = {*provider_names(case.settings or {})} - PROVIDERS.keys() - {used_name}
    known = sorted(find_providers()) if names else []
    unknown = sorted(names - {*known})
    if unknown:
        raise EvalFileError(
            option_diagnostic(
                case,
                f"settings for an unknown provider {name!r}; "
                + (did_you_mean(name, known) or f"the providers are {', '.join(known)}"),
                ("settings", name),
            )
            for name in unknown
        )
