"""Redacted reports: pytest's reports without secrets, whatever plugins add to them.

A report comes in; afterwards it holds no secret. Most reports are about a phase that passed and hold hardly any text,
so what is empty is not searched, and what all reports of a test share, its id and its properties, is searched once.
`redaction_hooks` calls it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
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
# Where a report keeps the properties of its test: pairs, which its reports share.
_PROPERTIES: Final = "user_properties"
# What never changes, so that a tuple of these does not either.
_FINAL: Final = frozenset({str, int, float, bool, type(None)})
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
    # The same of properties, by their `id`. The objects are kept, so that no other object gets the same `id`.
    _clean_properties: dict[int, object] = field(default_factory=dict)
    _secrets_known_of_properties: int = 0

    def redact(self, report: Any) -> None:
        """Redact all that a report of a test shows.

        Args:
            report: of pytest or of a plugin, such as that of a subtest; changed in place.
        """
        redact_contents(report, self.redactor)
        # Before the search: another thread may learn a secret meanwhile.
        secrets_known = self.redactor.learn_environment()
        attributes = vars(report)
        # Other plugins add what they report, such as output and records of logging, or the parameters of a subtest.
        for name in attributes.keys() - _OWN_ATTRIBUTES:
            value = attributes[name]
            if type(value) in _MAY_BE_EMPTY and not value:
                continue
            if value is self._clean_id and secrets_known == self._secrets_known:
                continue
            if name == _ID:
                attributes[name] = self._redacted_id(value, secrets_known)
            elif name == _PROPERTIES and type(value) is list:
                attributes[name] = self._redacted_properties(value, secrets_known)
            else:
                attributes[name] = redact_attribute(value, self.redactor)

    def _redacted_id(self, node_id: Any, secrets_known: int) -> Any:
        # pytest's id makes its text when it is first asked for it, and does not change after that.
        is_final = type(node_id).__module__.startswith("_pytest.") and bool(str(node_id))
        redacted = redact_attribute(node_id, self.redactor)
        if redacted is node_id and is_final:
            self._clean_id, self._secrets_known = node_id, secrets_known
        return redacted

    def _redacted_properties(self, properties: list[Any], secrets_known: int) -> list[Any]:
        clean = self._clean_properties if secrets_known == self._secrets_known_of_properties else {}
        new = [each for each in properties if id(each) not in clean]
        if not new:
            return properties
        final = new if _are_final(new) else [each for each in new if _are_final([each])]
        if not self._are_clean(final) or (final is not new and redact_attribute(new, self.redactor) is not new):
            redacted: list[Any] = redact_attribute(properties, self.redactor)
            return redacted
        # Without those of the test before.
        known = [each for each in properties if id(each) in clean]
        self._clean_properties = {id(each): each for each in known + final}
        self._secrets_known_of_properties = secrets_known
        return properties

    def _are_clean(self, pairs: list[Any]) -> bool:
        # Their texts are soon collected, and no secret reaches across a zero.
        texts = "\0".join([part for pair in pairs for part in pair if type(part) is str])
        return self.redactor.redact(texts) == texts


def _are_final(values: list[Any]) -> bool:
    """Whether nothing can change some values: tuples of texts and numbers."""
    return {tuple}.issuperset(map(type, values)) and _FINAL.issuperset(map(type, chain.from_iterable(values)))


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
