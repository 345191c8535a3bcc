"""promptfoo itself runs each config against the server of `eval_api`, and sends the conversations that our cases do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_chatprompt import EvalAPI
from pytest_chatprompt.apis.table import find_api, get_api, get_provider
from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import build_request
from tests.formats.configs import CONFIGS
from tests.formats.installed import MODULES, NODE
from tests.media import MP3, PNG

_QUIET = dict.fromkeys(
    ("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE", "PROMPTFOO_DISABLE_REMOTE_GENERATION", "NO_COLOR"), "1"
)
_MEDIA = {"data:image/png": PNG, "data:audio/mpeg": MP3}


def write(folder: Path, files: dict[str, str]) -> None:
    """Write the files of a config; one that stands for media gets their bytes."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_MEDIA.get(content) or content.encode())


def sent_by_promptfoo(folder: Path, eval_api: EvalAPI, extra: dict[str, str]) -> Counter[str]:
    """The conversations that promptfoo sends, each with the name of its API."""
    environment = {
        **os.environ,
        **_QUIET,
        **extra,
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_API_KEY": "none",
        "OPENAI_BASE_URL": f"{eval_api.url}/openai/v1",
        "ANTHROPIC_BASE_URL": f"{eval_api.url}/anthropic",
        "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"),
    }
    entry = MODULES / "promptfoo/dist/src/entrypoint.js"
    options = ("-c", "promptfooconfig.yaml", "--no-cache", "--no-write", "--no-table", "--no-progress-bar")
    done = subprocess.run(
        [NODE, entry, "eval", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    # 100: an assert failed, as the answers are no real ones.
    assert done.returncode in (0, 100), done.stdout + done.stderr
    conversations = Counter[str]()
    for sent in eval_api.sent:
        url = httpx.URL(sent.url)
        api = find_api("POST", url.path, url.host)
        assert api is not None, sent.url
        conversations[described(api.name, sent.body)] += 1
    return conversations


def sent_by_our_cases(folder: Path) -> Counter[str]:
    """The same of the cases that the file is here."""
    conversations = Counter[str]()
    reader = FileReader(folder)
    for loaded in load_eval_file(folder / "promptfooconfig.yaml", folder):
        case = loaded.render()
        for name in (case.provider,) if isinstance(case.provider, str) else case.provider or ():
            provider = get_provider(re.split(r"[: ]", name)[0])(api_key="none")
            request = build_request(case, reader, project_system_prompt="", provider_name=name)
            body = json.loads(provider.prepare(request).content)
            conversations[described(provider.offline_api, body)] += 1
    return conversations


def described(api: str, body: Any) -> str:
    """A conversation as a text that can be compared and read."""
    return f"{api}: {get_api(api).read_conversation(body)}"


@pytest.mark.parametrize("name", CONFIGS)
def test_promptfoo_sends_the_same_conversations(
    name: str, tmp_path: Path, eval_api: EvalAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PF_TEST_MODEL", "gpt-x")
    write(tmp_path, CONFIGS[name])
    ours = sent_by_our_cases(tmp_path)
    assert ours
    assert ours == sent_by_promptfoo(tmp_path, eval_api, {})
