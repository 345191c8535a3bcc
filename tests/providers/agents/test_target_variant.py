"""An agent with another program, model or arguments."""

from __future__ import annotations

from pytest_chatprompt import CodexProvider, VSCodeProvider


def test_a_variant_has_attributes_of_its_own_and_the_provider_stays() -> None:
    provider = CodexProvider()
    variant = provider.variant({"executable": "x", "model": "m", "args": ["-a"], "timeout_seconds": 3, "cwd": None})
    assert (variant.executable, variant.model, variant.extra_args) == ("x", "m", ("-a",))
    assert (variant.timeout_seconds, variant.cwd) == (3, None)
    assert (provider.executable, provider.model, provider.extra_args) == ("codex", None, ())


def test_what_an_agent_lacks_is_left_out() -> None:
    assert not hasattr(VSCodeProvider().variant({"model": "m"}), "model")
