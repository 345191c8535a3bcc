"""Attachments: the files that a case names, with their text or their bytes (rules A3, A4, A8 and B1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from pytest_chatprompt.cases.case import EvalCase, case_diagnostic
from pytest_chatprompt.cases.message import MediaPart, Part, TextPart
from pytest_chatprompt.errors import Diagnostic, EvalFileError, InvalidPatternError
from pytest_chatprompt.prompt.chat_prompt import Media, MediaError, media_of_file, media_of_url
from pytest_chatprompt.text.files import NamedFileError, ResolvedFile, TextFileError, find_file, read_bytes, read_text
from pytest_chatprompt.text.media_types import kind_of_media_type, kind_with_article
from pytest_chatprompt.wording import shown_path

# What is kept of media; texts are kept all.
_MAX_KEPT_BYTES: Final = 64 * 1024 * 1024


class FileReader:
    """Finds and reads the files of one run.

    Args:
        root: pytest's root folder, absolute.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._texts: dict[Path, str] = {}
        self._contents: dict[Path, bytes] = {}
        # Looking for a file and following its links takes longer than the rest of converting a short case.
        self._found_files: dict[tuple[str, Path], ResolvedFile] = {}
        self._parsed: dict[tuple[Path, type[BaseModel]], Any] = {}

    def find(self, name: str, folder: Path) -> ResolvedFile:
        """Find a file beside the eval file, or in a folder above, up to the root; else a `NamedFileError`."""
        if (name, folder) not in self._found_files:
            self._found_files[name, folder] = find_file(name, folder, self.root)
        return self._found_files[name, folder]

    def read(self, path: Path, name: str) -> str:
        """The text of a file by rule A4: UTF-8, CRLF as LF, no line breaks at the very end; else a `NamedFileError`."""
        return self.read_verbatim(path, name).rstrip("\n")

    def read_verbatim(self, path: Path, name: str) -> str:
        """Do as `read` does, and keep the line breaks at the very end (rule A8)."""
        if path not in self._texts:
            try:
                self._texts[path] = read_text(path, self.root).replace("\r\n", "\n")
            except TextFileError as error:
                raise NamedFileError(f"file {name} {error}", error.media_type) from error
        return self._texts[path]

    def read_bytes(self, path: Path, name: str) -> bytes:
        """The content of a file; a `NamedFileError` if it cannot be read."""
        if path not in self._contents:
            try:
                content = read_bytes(path, self.root)
            except TextFileError as error:
                raise NamedFileError(f"file {name} {error}") from error
            # A run over thousands of images must not hold all of them; one that is needed again is read again.
            while self._contents and sum(map(len, self._contents.values())) + len(content) > _MAX_KEPT_BYTES:
                del self._contents[next(iter(self._contents))]
            self._contents[path] = content
        return self._contents[path]

    def read_definition(self, name: str, folder: Path, key: str, model: type[BaseModel]) -> Any:
        """Read the value of a key that stands in a JSON or YAML file of its own; a file is parsed once.

        A file that cannot be read is a `NamedFileError`, what is wrong with its content an `EvalFileError`.
        """
        name = name.replace("\\", "/")
        path = self.find(name, folder).path
        text = self.read(path, name)
        if (path, model) not in self._parsed:
            # Few cases name such a file.
            from pytest_chatprompt.cases.diagnostics import parse_definition_file  # noqa: PLC0415

            self._parsed[path, model] = parse_definition_file(text, shown_path(path, self.root), key, model)
        return self._parsed[path, model]


def matching_pattern(paths: Iterable[str], patterns: Sequence[str]) -> str | None:
    """Find the glob that makes a file with these paths a guideline.

    A glob that begins with `!` excludes what it matches, wherever it is in the list; a leading `./` says nothing.
    """
    names = tuple(paths)
    including = [pattern for pattern in patterns if not _is_exclusion(pattern)]
    excluding = [pattern[1:] for pattern in patterns if _is_exclusion(pattern)]
    if any(_matches(name, pattern) for pattern in excluding for name in names):
        return None
    return next((pattern for pattern in including if any(_matches(name, pattern) for name in names)), None)


def _is_exclusion(pattern: str) -> bool:
    # `!(...)` is an extended glob.
    return pattern.startswith("!") and not pattern.startswith("!(")


@lru_cache(maxsize=4096)
def _matches(name: str, pattern: str) -> bool:
    # A run without guidelines does not need it.
    from wcmatch import glob  # noqa: PLC0415

    # FORCEUNIX: the same result on every platform. DOTMATCH: guidelines often are in `.github/instructions/`.
    flags = glob.GLOBSTAR | glob.BRACE | glob.EXTGLOB | glob.DOTGLOB | glob.FORCEUNIX
    try:
        return glob.globmatch(name, [pattern, pattern.removeprefix("./")], flags=flags)
    except Exception as error:
        # wcmatch has no public name for the exception that it raises if braces expand to too many patterns.
        raise InvalidPatternError(f"invalid guideline pattern {pattern!r}: {error}") from error


class Attachment(NamedTuple):
    """A file that a case names, with what its parts need of it.

    Args:
        name: its path as the author wrote it, with `/`.
        path: where it was found, absolute.
        content: its text by rule A4: CRLF as LF, without line breaks at the very end; `""` if no part attaches it.
        pattern: the pattern that makes it a guideline; `None` if it is not one.
        verbatim: its text by rules A8 and A9: with the line breaks at its end and variables filled in; `""` if no part
            is this text.
        media: the image, document or audio file that it is; `None` if no part sends it as one.
    """

    name: str
    path: Path
    content: str = ""
    pattern: str | None = None
    verbatim: str = ""
    media: Media | None = None

    @property
    def is_guideline(self) -> bool:
        """Whether its text goes into the system message, with only a reference where the author named it."""
        return self.pattern is not None


def read_attachments(case: EvalCase, reader: FileReader) -> Mapping[str, Attachment]:
    """Read each file that the `input_messages` of a case name, by path as written; any error is an `EvalFileError`."""
    __tracebackhide__ = True
    attachments: dict[str, Attachment] = {}
    diagnostics: list[Diagnostic] = []
    for message_index, message in enumerate(case.input_messages):
        # Only parts name files.
        for part_index, part in enumerate(message.content if isinstance(message.content, tuple) else ()):
            key = "file" if isinstance(part, TextPart) else "value"
            written: str | None = getattr(part, key, None)
            if written is None:
                continue
            try:
                fields = _read_part(part, written, case, reader)
            except (NamedFileError, MediaError) as error:
                location = ("input_messages", message_index, "content", part_index, key)
                diagnostics.append(case_diagnostic(case, str(error), *location))
                continue
            if fields:
                known = attachments.get(written)
                attachments[written] = Attachment(**fields) if known is None else known._replace(**fields)
    if diagnostics:
        raise EvalFileError(diagnostics)
    return attachments


def _filled_in(text: str, name: str, case: EvalCase) -> str:
    """The text of a part, with the variables of its case, if it has any (rule A9)."""
    if case.vars is None:
        return text
    from pytest_chatprompt.cases.templates import TextTemplateError, render_text  # noqa: PLC0415

    try:
        return render_text(text, case.vars)
    except TextTemplateError as error:
        raise NamedFileError(f"{name}, {error}") from error


def _read_part(part: Part, written: str, case: EvalCase, reader: FileReader) -> dict[str, Any]:
    """What a part needs of the file that it names, as fields of an `Attachment`; empty if it is a URL."""
    if isinstance(part, MediaPart) and media_of_url(part.type, written) is not None:
        return {}
    name = written.replace("\\", "/")
    found = reader.find(name, case.path.parent)
    fields: dict[str, Any] = {"name": name, "path": found.path}
    match part:
        case MediaPart():
            return fields | {"media": media_of_file(part.type, name, reader.read_bytes(found.path, name))}
        case TextPart():
            return fields | {"verbatim": _filled_in(reader.read_verbatim(found.path, name), name, case)}
    pattern = matching_pattern((found.root_path, name), case.guideline_patterns or ())
    try:
        return fields | {"content": reader.read(found.path, name), "pattern": pattern}
    except NamedFileError as error:
        kind = kind_of_media_type(error.media_type)
        if kind is None:
            raise
        raise NamedFileError(f"{error}; to send it as {kind_with_article(kind)}, write type: {kind}") from error
