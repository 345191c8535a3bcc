"""The project's own prompt of the judge, which the ini value `chatprompt_judge_template` names.

The run's configuration comes in, the prompt comes out. `case_judge` asks for it, and `live_run` for cases ahead.
"""

from __future__ import annotations

import pytest

from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.judge import JudgePrompt, PromptFile
from pytest_chatprompt.items.shared import shared_file_reader
from pytest_chatprompt.options import options_key
from pytest_chatprompt.prompt.attachments import AttachmentError


def project_prompt(config: pytest.Config) -> JudgePrompt | None:
    """The project's prompt of the judge; `None` if it has none.

    Raises:
        CheckError: there is no such file inside the root folder.
        EvalFileError: it is not a list of messages.
    """
    name = config.stash[options_key].judge_template
    if name is None:
        return None
    reader = shared_file_reader(config)
    try:
        prompt: JudgePrompt = reader.read_definition(name, config.rootpath, "template", PromptFile)
    except AttachmentError as error:
        raise CheckError(f"chatprompt_judge_template: {error}") from error
    return prompt
