"""`EvalSnapshot`: what the fixture `eval_snapshot` gives, syrupy's assertion with files, data and a diff of ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from syrupy.assertion import AssertionResult, DiffMode, SnapshotAssertion
from syrupy.data import SnapshotCollection, SnapshotCollections
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.snapshots.files import (
    SnapshotFileError,
    UnwritableFileError,
    atomic_write,
    escaped_name,
    read_snapshot,
    shown_snapshot,
)
from pytest_chatprompt.snapshots.layout import DumpError, dump
from pytest_chatprompt.snapshots.shown_data import is_sent
from pytest_chatprompt.wording import visible_line

if TYPE_CHECKING:
    from syrupy.types import PropertyFilter, PropertyMatcher, PropertyPath, SerializableData, SerializedData

    from pytest_chatprompt.snapshots.diff import Comparison
    from pytest_chatprompt.snapshots.revision import Revision


def filtered(
    data: Any,
    matcher: PropertyMatcher | None = None,
    exclude: PropertyFilter | None = None,
    include: PropertyFilter | None = None,
    path: PropertyPath = (),
) -> Any:
    """Data with values replaced by syrupy's `matcher`, as `repr` if they are no JSON, and without what is excluded."""
    if matcher is not None:
        shown = matcher(data=data, path=path)
        is_json = shown is None or isinstance(shown, str | int | float | list | tuple | Mapping)
        data = shown if shown is data or is_json else repr(shown)
    if isinstance(data, dict | Mapping):
        return {
            key: filtered(value, matcher, exclude, include, (*path, (key, type(value))))
            for key, value in data.items()
            if not (exclude is not None and exclude(prop=key, path=path))
            and (include is None or include(prop=key, path=path))
        }
    if isinstance(data, list | tuple):
        return [filtered(value, matcher, exclude, include, (*path, (at, type(value)))) for at, value in enumerate(data)]
    return data


class ChatPromptSnapshotExtension(SingleFileSnapshotExtension):
    """Store each assertion as exact and readable YAML in a file of its own.

    The item gives its folder and name as `snapshot_folder` and `snapshot_stem`. Where it has none, as with
    `snapshot.use_extension(...)`, they are syrupy's own.
    """

    file_extension = "yaml"
    # Reads a snapshot of a git revision, in place of the files on disk.
    read_committed: Callable[[Path], str | None] | None = None

    def serialize(self, data: SerializableData, **filters: Any) -> str:
        """Convert the asserted value to the text of a snapshot; one that is not a dict goes under the key `value`."""
        data = filtered(data, **filters)
        return dump(data if isinstance(data, dict) else {"value": data})

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """The name of a snapshot in syrupy's report: the name of the test, not of the file."""
        return AbstractSyrupyExtension.get_snapshot_name(test_location=test_location, index=index)

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of a test's snapshots: given by the item, or syrupy's own."""
        folder = getattr(test_location.item, "snapshot_folder", None)
        return str(super().dirname(test_location=test_location) if folder is None else folder)

    # `discover_snapshots` looks into no folder.
    discovery_dirname = dirname

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """The file of a snapshot: as syrupy's own, which takes longer, and is asked several times in a comparison."""
        name = cls.get_file_basename(test_location=test_location, index=index)
        return f"{cls.dirname(test_location=test_location)}{os.sep}{name}.{cls.file_extension}"

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """The file name without extension: given by the item, or syrupy's own."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return str(super().get_snapshot_name(test_location=test_location, index=index))
        suffix = f"[{escaped_name(index)}]" if isinstance(index, str) else f".{index}" if index else ""
        return f"{stem}{suffix}"

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a file is a snapshot of a test, by its name."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return super().matches_test_location(test_location=test_location, snapshot_location=snapshot_location)
        return Path(snapshot_location).name.startswith(stem)

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """Report no files: syrupy would match their names to tests by rules for Python identifiers."""
        return SnapshotCollections()

    def read_snapshot_data_from_location(self, *, snapshot_location: str, **_: Any) -> str | None:
        """The text of a snapshot, with LF line breaks; `None` if there is no file."""
        return (self.read_committed or read_snapshot)(Path(snapshot_location))

    def matches(self, *, serialized_data: SerializedData, snapshot_data: SerializedData) -> bool:
        """Whether a snapshot shows what is sent: the same text, or another one with the same data."""
        if serialized_data == snapshot_data:
            return True
        from pytest_chatprompt.snapshots.changes import shows_the_same  # noqa: PLC0415

        return shows_the_same(str(snapshot_data), str(serialized_data))

    @classmethod
    def write_snapshot_collection(cls, *, snapshot_collection: SnapshotCollection, **_: Any) -> None:
        """Write a snapshot, replacing its file as a whole."""
        atomic_write(Path(snapshot_collection.location), str(next(iter(snapshot_collection)).data))


def settle_requests_after_reply(requests: Sequence[Any], is_late: Sequence[bool], stored: Sequence[Any]) -> list[Any]:
    """Replace late requests, which may hold a real reply, by those that the snapshot shows in their place."""
    settled = [
        stored[index] if late else request
        for index, (request, late) in enumerate(zip(requests, is_late, strict=True))
        if not late or index < len(stored)
    ]
    return [*settled, *stored[len(requests) :]]


# Pytest cuts off longer explanations.
_SHOWN_LINES: Final = 7
_SHOWN_CHARACTERS: Final = 560


def _unchanged(value: Any) -> Any:
    return value


class AssertionContext(NamedTuple):
    """What an assertion needs to know of its test, and whom it tells.

    Args:
        differing: by their files, the comparisons that failed and that no report of the test has told yet.
        compared: by their files, the assertions that have compared, the last one last.
        prepare: makes the data of the snapshot from the value that the test compares; may raise.
        compares: whether values are compared; else each is equal, once its data could be made.
        accepted: the ids of the changes with which a snapshot counts as it is to be written when all tests have ended.
        note_version: called with what each value would be compared with, and then each is equal; `None` to compare.
    """

    root: Path
    differing: dict[str, Comparison]
    compared: dict[str, EvalSnapshot]
    accepted: Collection[str]
    revision: Revision | None
    prepare: Callable[[Any], Any] = _unchanged
    compares: bool = True
    describe_command: Callable[[], str] = str
    note_asserted: Callable[[str], Any] = _unchanged
    note_version: Callable[[AssertionResult], Any] | None = None
    note_late_difference: Callable[[], Any] = list


class EvalSnapshot(SnapshotAssertion):
    """Syrupy's assertion with this package's files, data and diff."""

    context: AssertionContext
    _failed: Comparison | None = None

    @classmethod
    def wrap(cls, snapshot: SnapshotAssertion, item: Any, context: AssertionContext) -> Self:
        """Make the assertion of a test from that of syrupy's fixture `snapshot`, which may be another test's."""
        wrapped = cls(
            session=snapshot.session,
            extension_class=ChatPromptSnapshotExtension,
            test_location=PyTestLocation(item),
            update_snapshots=snapshot.update_snapshots,
            update_new_snapshots_only=snapshot.update_new_snapshots_only,
            include=snapshot.include,
            exclude=snapshot.exclude,
            matcher=snapshot.matcher,
        )
        wrapped.context = context
        return wrapped

    def with_defaults(self, **options: Any) -> Self:
        """A new assertion of the same test, with other defaults."""
        new: Any = super().with_defaults(**options)
        new.context = self.context
        return new  # type: ignore[no-any-return]

    def _settle_late(self, data: Any, value: Any) -> Any:
        """The data to compare: requests made after a real reply are as the snapshot shows them, if there is one."""
        is_late = [sent.is_late for sent in value] if is_sent(value) else []
        if not any(is_late):
            return data
        from pytest_chatprompt.snapshots.changes import stored_data  # noqa: PLC0415

        location = self.extension.get_location(test_location=self.test_location, index=self.index)
        stored = stored_data(Path(location)).get("requests")
        if not isinstance(stored, list):
            return data
        requests = settle_requests_after_reply(data["requests"], is_late, stored)
        if requests != data["requests"]:
            self.context.note_late_difference()
        return {"requests": requests}

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: SerializableData) -> bool:
        """Compare a value with its snapshot; with `--snapshot-update` write it."""
        __tracebackhide__ = True
        if isinstance(self.index, str):
            # It becomes a part of the file's name.
            self.context.prepare({"name": self.index})
        data = self._settle_late(self.context.prepare(other), other)
        if not self.context.compares:
            return True
        extension: Any = self.extension
        if isinstance(extension, ChatPromptSnapshotExtension):
            revision = self.context.revision
            extension.read_committed = None if revision is None else revision.read
        self._failed = None
        is_equal = super().__eq__(data)
        result = self.last_result
        if isinstance(result.exception, OSError):
            reason = result.exception.strerror or result.exception
            result.exception = UnwritableFileError(f"cannot be written: {reason}")
        self.context.note_asserted(result.snapshot_location)
        was_compared = self.context.compared.pop(result.snapshot_location, None) is not None
        if result.updated and was_compared:
            raise SnapshotError(
                f"the test compares different data with {Path(result.snapshot_location).name}; give each its own name="
            )
        self.context.compared[result.snapshot_location] = self
        self.context.differing.pop(result.snapshot_location, None)
        if not isinstance(result.exception, SnapshotFileError | DumpError | None):
            # A mistake in what the project gives, such as a matcher.
            raise result.exception
        if self.context.note_version is not None:
            self.context.note_version(result)
            is_equal = result.success = True
        elif not is_equal and result.exception is None:
            is_equal = self._accept(result)
        if is_equal:
            # Syrupy keeps its results to the end of the run and reports their names only; the texts would add up.
            result.asserted_data = result.recalled_data = None
        return is_equal

    def _accept(self, result: AssertionResult) -> bool:
        """Note what differs, and whether the run accepts all of that; if only some of it, the rest is the failure."""
        # Most snapshots are equal.
        from pytest_chatprompt.snapshots.diff import Comparison  # noqa: PLC0415

        path, sent = Path(result.snapshot_location), str(result.asserted_data)
        stored = None if result.recalled_data is None else str(result.recalled_data)
        self._failed = self.context.differing[result.snapshot_location] = Comparison(path, stored, sent)
        if (text := self._failed.accepting(self.context.accepted)) is not None:
            self._failed = Comparison(path, text, sent)
            result.recalled_data = text
            result.success = text == sent
            # Syrupy counts it so.
            result.created, result.updated = result.success and stored is None, result.success and stored is not None
        return result.success

    @property
    def last_result(self) -> AssertionResult:
        """The result of the last comparison."""
        return self.executions[self.num_executions - 1]

    @property
    def has_failed(self) -> bool:
        """Whether the last comparison has failed; one that a time limit ended has not compared."""
        if self.num_executions == 0 or self.last_result.success:
            return False
        return self._failed is not None or self.last_result.exception is not None

    def get_assert_diff(self, *, diff_mode: DiffMode = DiffMode.DETAILED) -> list[str]:
        """What pytest shows beside the failed assertion, a line each; it would cut off more."""
        lines = self.describe_failure(diff_mode=diff_mode)
        if len(lines) <= _SHOWN_LINES and sum(map(len, lines)) <= _SHOWN_CHARACTERS:
            return lines
        return [lines[0], "The whole difference is shown below, under eval_snapshot."]

    def describe_failure(self, *, diff_mode: DiffMode = DiffMode.DETAILED) -> list[str]:
        """All that there is to say of a failed comparison, a line each."""
        result = self.last_result
        revision = self.context.revision
        name = None if revision is None else revision.name
        path = shown_snapshot(Path(result.snapshot_location), self.context.root, name)
        if isinstance(result.exception, SnapshotFileError):
            lines = [f"the snapshot {path} {result.exception}; {result.exception.advice}"]
        elif result.exception is not None:
            lines = [str(result.exception)]
        else:
            comparison: Any = self._failed
            shows_diff = diff_mode == DiffMode.DETAILED
            lines = comparison.lines(path, self.context.describe_command(), shows_diff=shows_diff)
        return [visible_line(line) for line in lines]

    def __repr__(self) -> str:
        """Short: pytest shows it beside the diff, which has the data."""
        return "<eval_snapshot>"
