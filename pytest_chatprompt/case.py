"""The case: what an author wrote, as frozen data.

`eval_file` makes it of YAML, after the file's defaults were put below the case's own values. Everything downstream
(rendering, requests, fixtures, hooks of users) reads it; nothing changes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pytest_chatprompt.eval_message import EvalMessage
from pytest_chatprompt.strict_model import NonEmptyString, OneOrMore, Several, Strict, one_or_several
from pytest_chatprompt.yaml_source import Source
from pytest_chatprompt.yaml_tree import Place

_TAG: Final = re.compile(r"(?!_)[\w\-./+]+")


def is_selectable(tag: str) -> bool:
    """Whether an expression of `-m` can name a tag."""
    return _TAG.fullmatch(tag) is not None


def _selectable(tag: str) -> str:
    if not is_selectable(tag):
        raise PydanticCustomError(
            "told",
            "the tag {tag} cannot be selected with -m; use letters, digits and any of _ - . / +, no underscore first",
            {"tag": repr(tag)},
        )
    return tag


class Execution(BaseModel):
    """AgentV's `execution`: its `target` names the provider, the rest is kept and not acted on."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")

    target: str | None = None


def _named_once(names: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    if isinstance(names, tuple):
        twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if twice is not None:
            raise PydanticCustomError("told", "'provider' names {name} twice", {"name": repr(twice)})
    return names


class Shared(Strict):
    """The keys that a file and a case may both have."""

    description: str | None = None
    provider: Annotated[
        Annotated[NonEmptyString, Tag("string")]
        | Annotated[OneOrMore[NonEmptyString], Tag("parts")]
        | Annotated[None, Tag("null")],
        Discriminator(one_or_several),
        AfterValidator(_named_once),
    ] = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    guideline_patterns: Several[str] | None = None
    tags: Several[Annotated[str, AfterValidator(_selectable)]] = ()

    # AgentV's, known by name; of these only the provider and the outcome are acted on.
    expected_outcome: str | None = None
    dataset: Any = None
    conversation_id: Any = None
    note: Any = None
    rubrics: Any = None
    evaluator: Any = None
    evaluators: Any = None
    execution: Execution | None = None
    target: str | None = None

    @model_validator(mode="after")
    def _system_prompt_is_text_under_its_name(self) -> Self:
        for key, value in self.metadata.items():
            if re.sub(r"[^a-z]", "", key.lower()) == "systemprompt":
                if key != "systemPrompt":
                    told = "'metadata.{key}' is not read; write 'systemPrompt'"
                    raise PydanticCustomError("metadata", told, {"key": key})
                if not isinstance(value, str | None):
                    raise PydanticCustomError("metadata", "'metadata.{key}' is no string; quote it", {"key": key})
        return self


class Origin(NamedTuple):
    """Where a case stands.

    Args:
        path: the eval file, absolute.
        shown_path: the same, relative to the root folder and with `/`, for messages.
        line: on which it begins, 1-based.
        column: likewise.
        source: the text of the file.
        position: which of the file's `evalcases` it is, from 0.
    """

    path: Path
    shown_path: str
    line: int
    column: int
    source: Source
    position: int

    @property
    def place(self) -> Place:
        """Where it begins."""
        return Place(self.line, self.column)

    def find(self, *location: str | int) -> Place:
        """Where something in the case stands, by the keys and indexes that lead to it, or what is nearest to it."""
        return self.source.root.find(("evalcases", self.position, *location)).place


class EvalCase(Shared):
    """One case of an eval file, with the file's defaults put in.

    Attributes:
        id: unique in the file.
        outcome: what a good answer does, free text (AgentV: `expected_outcome`).
        provider: the provider or providers asked for; `None` for the default one.
        metadata: the file's, with the case's own keys over it; `systemPrompt` is the system prompt.
        guideline_patterns: the globs in force for this case.
        tags: the file's and then the case's own.
        input_messages: what is sent.
        expected_messages: a reference answer, never sent.
    """

    id: NonEmptyString
    outcome: str | None = None
    input_messages: OneOrMore[EvalMessage]
    expected_messages: Several[EvalMessage] = ()

    @property
    def path(self) -> Path:
        """The eval file, absolute."""
        return self.origin.path

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.origin.line

    _origin: Origin | None = PrivateAttr(default=None)

    @property
    def origin(self) -> Origin:
        """Where the case stands.

        Raises:
            AttributeError: the case was not read from a file.
        """
        if self._origin is None:
            raise AttributeError(f"case {self.id!r} was not read from a file")
        return self._origin

    @property
    def system_prompt(self) -> str | None:
        """What the author set as `metadata.systemPrompt`: `""` for none wanted, `None` for not set."""
        prompt: str | None = self.metadata.get("systemPrompt")
        return prompt
