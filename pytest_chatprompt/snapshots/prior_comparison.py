"""The prior comparison: what a case sends, compared with its snapshot before pytest runs the case.

A thread of a live run makes a `PriorComparison`. When the case runs, all that may have changed is made again, above all
the request; what was made of the very same request need not be made once more. `live` makes and keeps them, `items` and
`assertion` use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.capture.sent_request import Exchange
    from pytest_chatprompt.snapshots.masks import Masks


class PriorComparison(NamedTuple):
    """What was compared with the snapshot of a case that asks no judge.

    Args:
        exchange: what its provider was shown to send.
        provider_name: the name by which the provider was asked for.
        masks: what the data is masked with.
        data: what the snapshot shows, masked; nobody may change it.
        redactor: has found no secret in the data.
        secrets_known: how many secrets it had learned before.
    """

    exchange: Exchange
    provider_name: str
    masks: Masks
    data: dict[str, Any]
    redactor: Redactor
    secrets_known: int

    def shows(self, exchange: Exchange, provider_name: str, masks: Masks) -> bool:
        """Whether the snapshot of what a case sends now, without a judge, shows just this data.

        Args:
            exchange: what the case sends.
            provider_name: the name by which its provider was asked for.
            masks: what its data is masked with.
        """
        # What `snapshot_data` reads of an exchange. The provider prepares `sent` anew; it is the same object if it has
        # prepared the same.
        return (
            exchange.sent is self.exchange.sent
            and exchange.invocation is None
            and exchange.request.question == self.exchange.request.question
            and exchange.request.adjustments == self.exchange.request.adjustments
            and exchange.response.adjustments == self.exchange.response.adjustments
            and provider_name == self.provider_name
            and masks == self.masks
            and masks.is_constant
        )

    def is_searched(self, redactor: Redactor) -> bool:
        """Whether a redactor would find no secret in the data: it has looked, and knows of no other secret since."""
        return redactor is self.redactor and redactor.learn_environment() == self.secrets_known
