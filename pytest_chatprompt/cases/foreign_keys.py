"""Keys that are unknown where they stand, and known elsewhere: in another place of an eval file, or in another tool.

Sources: the documentation of promptfoo, AgentV, Inspect and DeepEval, and the parameters of the vendors' APIs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pytest_chatprompt.cases.fields import Level
from pytest_chatprompt.cases.request_options import SETTING_NAMES

_OTHER_CHARACTERS: Final = re.compile(r"[^a-z0-9]")


def _key(word: str) -> str:
    """Normalize the spelling of a key: `maxTokens` and `max_tokens` are one word."""
    return _OTHER_CHARACTERS.sub("", word.lower())


def _table(words: Mapping[str, str]) -> dict[str, str]:
    """What to write for each word: the keys of the argument are lists of words."""
    return {_key(word): text for keys, text in words.items() for word in keys.split()}


# The settings by the names that the vendors' APIs have for them.
_SETTINGS: Final = {_key(name): name for name in SETTING_NAMES} | _table(
    {
        "max_tokens max_completion_tokens max_new_tokens max_length": "max_output_tokens",
        "stop_sequences": "stop",
        "deployment model_name model_id": "model",
        "random_seed": "seed",
        "effort": "reasoning_effort",
        "extra": "extra_body",
    }
)
_BESIDE_SETTINGS: Final = _table(
    {
        "tools functions": "tools",
        "tool_choice function_call": "tool_choice",
        "response_format output_format output_schema response_schema json_schema": "response_format",
    }
)
# Cases of other formats; AgentV renamed `evalcases` to `tests`, as they are called in promptfoo.
OTHER_FORMATS: Final = frozenset({"tests", "scenarios"})
_OTHER_FORMAT: Final = (
    "this is the format of promptfoo and of today's AgentV, which this version does not read: run the file with that "
    "tool, or write its cases under 'evalcases', each with an 'id' and its 'input_messages'"
)
_CHECKS: Final = "write 'checks', a list of {type: TYPE, value: ...}"
_IN_THE_PROVIDER: Final = (
    "it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it"
)
_SYSTEM_PROMPT: Final = "write 'metadata: {systemPrompt: ...}', or a message with the role system"
_ATTACHMENT: Final = "write a part {type: file, value: PATH} in the 'content' of a message"
_IMAGE: Final = "write a part {type: image, value: PATH} in the 'content' of a message"
_IN_A_CASE: Final = "it belongs in a case, under 'evalcases'"

_FILE_AND_CASE: Final = _table(
    {
        "providers models targets": "write 'provider', which may be a list",
        "assert asserts assertions scorer scorers scores metrics graders grader judge threshold": _CHECKS,
        "system system_prompt system_message instructions developer": _SYSTEM_PROMPT,
        "guidelines": "write 'guideline_patterns', a list of globs",
        "variables inputs": "write 'vars'",
        "rows data_set parameters params": "write 'parametrize'",
        "epochs trials num_trials repetitions num_repetitions samples_per_case": "write 'repeat'",
        "success_rate pass_threshold min_pass_rate required_pass_rate": "write 'pass_rate'",
        "markers marks labels": "write 'tags'",
        "skip disabled": "write 'tags: [skip]'",
        "only": "select the case on the command line: -k, or its node id",
        "files attachments input_files": _ATTACHMENT,
        "images image": _IMAGE,
        "config options generation_config model_config": "write 'settings'",
        "api_key base_url endpoint api_version timeout timeout_seconds max_retries retries": _IN_THE_PROVIDER,
    }
)
_LEVELS: Final[Mapping[Level, Mapping[str, str]]] = {
    "file": _FILE_AND_CASE
    | dict.fromkeys(map(_key, OTHER_FORMATS), _OTHER_FORMAT)
    | _table(
        {
            "cases eval_cases evals examples samples test_cases": "write 'evalcases'",
            "prompt prompts messages question": "write the messages of each case as its 'input_messages'",
            "default_test defaults": "write what all cases share at the top of the file, beside 'evalcases'",
            "id input_messages input expected_messages expected_output outcome role content": _IN_A_CASE,
            "name title": "write 'description'",
        }
    ),
    "case": _FILE_AND_CASE
    | _table(
        {
            "evalcases $schema": "it belongs at the top of the file",
            "prompt prompts messages question query conversation turns": "write 'input_messages'",
            "expected ideal reference reference_answer answer expected_answer golden output outputs": (
                "write 'expected_messages'"
            ),
            "criteria criterion rubric expected_behavior": "write 'outcome'",
            "name title case_id test_id": "write 'id'",
            "role content": "it belongs in a message of 'input_messages'",
        }
    ),
    "settings": _table(
        {
            "provider": "it belongs beside 'settings'",
            "system system_prompt": _SYSTEM_PROMPT,
            "api_key base_url endpoint api_version timeout timeout_seconds max_retries retries": _IN_THE_PROVIDER,
        }
    ),
    "message": _table(
        {
            "text value parts message body": "write 'content'",
            "from speaker author": "write 'role'",
            "function_call": "write 'tool_calls'",
            "call_id tool_use_id": "write 'tool_call_id'",
            "files attachments": _ATTACHMENT,
            "images image": _IMAGE,
            "type": "it belongs in a part, in the list 'content'",
        }
    ),
    "part": _table(
        {
            "text content data": "write 'value'",
            "path filename file_path src url": "write 'value'",
            "role": "it belongs in the message, beside 'content'",
        }
    ),
}


# The roles of OpenAI's later models, LangChain, ShareGPT's datasets, Gemini, and OpenAI before it had tools.
_ROLES: Final = _table({"developer": "system", "human": "user", "ai model bot gpt": "assistant", "function": "tool"})


def find_own_role(role: str) -> str | None:
    """The role to write instead of a role of another format; `None` for an unknown role."""
    return _ROLES.get(_key(role))


def explain_foreign_key(level: Level, key: str) -> str:
    """Say what to write instead of a key that is unknown at a level; `""` if nothing is known about it."""
    word = _key(key)
    special = _LEVELS[level].get(word)
    if special is not None:
        return special
    if word in _SETTINGS:
        name = _SETTINGS[word]
        if level == "settings":
            return f"write {name!r}"
        where = "under 'settings'" if level in ("file", "case") else "under 'settings', of the case or of the file"
        return f"write it {where}" if key == name else f"write {name!r} {where}"
    if word in _BESIDE_SETTINGS:
        name = _BESIDE_SETTINGS[word]
        where = {"file": "", "case": "", "settings": " beside 'settings'"}.get(
            level, " beside 'input_messages', or at the top of the file"
        )
        return f"write it{where}" if key == name else f"write {name!r}{where}"
    return ""


@lru_cache(maxsize=1024)
def explain_ineffective_setting(key: str, place: str) -> str:
    """Say where a setting belongs that stands where it has no effect; `""` for what does not look like a setting."""
    name = _SETTINGS.get(_key(key))
    if name is not None:
        return f"write it under 'settings', as {name!r}" if name != key else "write it under 'settings'"
    name = _BESIDE_SETTINGS.get(_key(key))
    if name is None:
        return ""
    return f"write {name!r} beside {place!r}" if name != key else f"write it beside {place!r}"
