"""An agent with another program, model or arguments: what a target of AgentV says about its provider.

A provider comes in; a copy comes out, the provider stays as it is. `items.agentv_providers` calls it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

from pytest_chatprompt.providers.agents.base import AgentProvider

P = TypeVar("P", bound=AgentProvider)


def agent_variant(provider: P, attributes: Mapping[str, Any]) -> P:
    """Copy an agent, with other attributes.

    Args:
        provider: it is not changed.
        attributes: by the names of AgentV's targets: `executable`, `model`, `args`, `cwd`, `timeout_seconds`; `None`
            and what the agent lacks are left out.
    """
    variant = copy.copy(provider)
    for name, value in attributes.items():
        attribute = "extra_args" if name == "args" else name
        if value is not None and hasattr(provider, attribute):
            setattr(variant, attribute, tuple(value) if name == "args" else value)
    return variant
