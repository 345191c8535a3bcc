"""Change cost: how much longer a request became, and up to where vendors can reuse what they have computed.

A frozen record, which is JSON within a `CaseResult`. `items.snapshot_results`
makes it where a case differs from its snapshot, `reports` show it.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ChangeCost(BaseModel):
    """How a change alters the size of a request and its cacheable prefix.

    Args:
        characters: how many more are sent than the snapshot shows; fewer if negative. Media do not count.
        tokens: an estimate of the same in tokens, by the characters.
        prefix_break: the first place at which the request does not begin as the snapshot does, such as
            `request.tools[3].description`: from there on vendors compute the prompt anew. `None` if one
            of the two begins with all of the other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    characters: int = 0
    tokens: int = 0
    prefix_break: str | None = None
