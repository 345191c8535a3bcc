"""Redacted reports: pytest's reports without secrets, whatever plugins add to them.

A report comes in; afterwards it holds no secret. Most reports are about a phase that passed and hold hardly any text,
so what is empty is not searched, and the id of a test, which all of its reports share, is searched once.
`redaction_hooks` calls it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.items.redacted_errors import redact_attribute, redact_representation
from pytest_chatprompt.items.report_redactor import TextRedactor

# Of a report: names, numbers, and what `redact_contents` redacts, or this plugin has redacted before.
_OWN_ATTRIBUTES: Final = frozenset(
    {"nodeid", "location", "keywords", "outcome", "when", "duration", "start", "stop", "sections", "longrepr", "result"}
    | {"chatprompt_result"}
)
# Where a report keeps the id of its test.
_ID: Final = "_id"
_MAY_BE_EMPTY: Final = frozenset({list, tuple, dict, set, frozenset, str, type(None)})


@dataclass(eq=False)
class RedactedReports:
    """Redacts the reports of a run, each as often as plugins may have added to it.

    Args:
        redactor: removes the secrets of the run.
    """

    redactor: TextRedactor
    # The id of a test that held none of the secrets that were known then, and how many these were.
    _clean_id: object = field(default_factory=object)
    _secrets_known: int = 0

    def redact(self, report: Any) -> None:
        """Redact all that a report of a test shows.

        Args:
            report: of pytest or of a plugin, such as that of a subtest; changed in place.
        """
        redact_contents(report, self.redactor)
        attributes = vars(report)
        # Other plugins add what they report, such as output and records of logging, or the parameters of a subtest.
        for name in attributes.keys() - _OWN_ATTRIBUTES:
            value = attributes[name]
            if type(value) in _MAY_BE_EMPTY and not value:
                continue
            if value is self._clean_id and self.redactor.learn_environment() == self._secrets_known:
                continue
            attributes[name] = self._redacted_id(value) if name == _ID else redact_attribute(value, self.redactor)

    def _redacted_id(self, node_id: Any) -> Any:
        # Before the search: another thread may learn a secret meanwhile.
        secrets_known = self.redactor.learn_environment()
        # pytest's id makes its text when it is first asked for it, and does not change after that.
        is_final = type(node_id).__module__.startswith("_pytest.") and bool(str(node_id))
        redacted = redact_attribute(node_id, self.redactor)
        if redacted is node_id and is_final:
            self._clean_id, self._secrets_known = node_id, secrets_known
        return redacted


def redact_contents(report: Any, redactor: TextRedactor) -> None:
    """Redact the failure and the sections of a report.

    Args:
        report: of a test or a file; changed in place.
        redactor: removes the secrets of the run.
    """
    if report.sections:
        report.sections = [(name, redactor.redact(content)) for name, content in report.sections]
    if report.longrepr is not None:
        report.longrepr = redact_representation(report.longrepr, redactor)
