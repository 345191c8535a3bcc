"""The request of a case with media, and with texts that stand in files (rules A3, A8 and D)."""

from __future__ import annotations

from pytest_chatprompt import ChatMessage, ProviderRequest
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.conftest import Project
from tests.media import PDF, PNG, PNG_SHOWN, WAV, data_url

PROMPT = 'metadata: {systemPrompt: "Look."}'


def prompt_of(request: ProviderRequest) -> list[tuple[str, object]]:
    assert request.chat_prompt is not None
    return [(message.role, message.content) for message in request.chat_prompt]


def test_a3_media_stand_between_the_texts_and_are_lines_of_the_question(project: Project) -> None:
    project.write("evals/screen.png", PNG)
    project.write("evals/loop.py", "for x in y: ...\n")
    project.write("report.pdf", PDF)
    request = project.request(
        """
input_messages:
  - role: user
    content:
      - {type: text, value: "Review this:"}
      - {type: file, value: ./loop.py}
      - {type: image, value: ./screen.png}
      - {type: text, value: " "}
      - {type: document, value: ../report.pdf}
      - {type: text, value: What}
      - {type: text, value: is wrong?}
  - {role: assistant, content: The range.}
""",
        PROMPT,
    )
    screen = Media("image", "./screen.png", "image/png", PNG)
    report = Media("document", "../report.pdf", "application/pdf", PDF)
    assert prompt_of(request) == [
        ("system", "Look."),
        (
            "user",
            ("Review this:\n=== ./loop.py ===\nfor x in y: ...", screen, report, "What\nis wrong?"),
        ),
        ("assistant", "The range."),
    ]
    assert request.chat_prompt is not None
    assert [media.place for media in request.chat_prompt[1].media] == [(1, 3), (1, 5)]
    assert request.question == (
        "[User]:\nReview this:\n=== ./loop.py ===\nfor x in y: ...\n<Image: ./screen.png>\n<Document: ../report.pdf>\n"
        "What\nis wrong?\n[Assistant]: The range."
    )
    assert [path.name for path in request.input_files] == ["loop.py", "screen.png", "report.pdf"]
    assert request.adjustments == ("message 1: part 4 dropped, nothing left in it",)


def test_a5_a_message_of_media_alone_is_sent(project: Project) -> None:
    project.write("evals/a.wav", WAV)
    request = project.request("input_messages: [{role: user, content: [{type: audio, value: a.wav}]}]", PROMPT)
    assert prompt_of(request)[1:] == [("user", (Media("audio", "a.wav", "audio/wav", WAV),))]
    assert request.question == "<Audio: a.wav>"


def test_b5_a_message_of_a_guideline_and_an_image_stays(project: Project) -> None:
    project.write("evals/a.png", PNG)
    project.write("evals/g.md", "Be brief.")
    request = project.request(
        """
guideline_patterns: ["**/*"]
input_messages: [{role: user, content: [{type: file, value: g.md}, {type: image, value: a.png}]}]
"""
    )
    assert prompt_of(request)[1] == ("user", ("<Attached: g.md>", Media("image", "a.png", "image/png", PNG)))
    assert [path.name for path in request.guideline_files] == ["g.md"]


def test_c1_system_messages_with_media_are_one_too(project: Project) -> None:
    project.write("evals/a.png", PNG)
    request = project.request(
        """
input_messages:
  - {role: system, content: One.}
  - {role: system, content: [{type: image, value: a.png}]}
  - {role: system, content: Two.}
  - {role: system, content: Three.}
  - {role: user, content: hi}
"""
    )
    image = Media("image", "a.png", "image/png", PNG)
    assert prompt_of(request) == [("system", ("One.", image, "Two.\n\nThree.")), ("user", "hi")]
    assert request.chat_prompt is not None
    assert request.chat_prompt[0].media[0].place == (2, 1)


def test_urls_are_shown_and_data_urls_described(project: Project) -> None:
    request = project.request(
        f"""
input_messages:
  - role: user
    content: [{{type: image, value: "https://x.example/a.png"}}, {{type: image, value: "{data_url(PNG)}"}}]
"""
    )
    assert request.question == f"<Image: https://x.example/a.png>\n<Image: {PNG_SHOWN}>"
    assert request.input_files == ()


def test_a8_a_text_in_a_file_is_sent_as_it_is(project: Project) -> None:
    project.write("prompts/persona.md", b"\xef\xbb\xbfYou are Ada.\r\n  Be brief. {{ name }}\n\n")
    request = project.request(
        """
guideline_patterns: ["**/*.md"]
input_messages:
  - {role: system, content: [{type: text, file: /prompts/persona.md}]}
  - {role: user, content: [{type: text, value: Hi}, {type: text, file: ../prompts/persona.md}, {type: text, value: Bye}]}
"""
    )
    persona = "You are Ada.\n  Be brief. {{ name }}\n\n"
    assert prompt_of(request) == [("system", persona), ("user", f"Hi\n{persona}\nBye")]
    assert request.guidelines == ()
    assert [path.name for path in request.input_files] == ["persona.md"]


def test_a8_a_text_in_a_file_with_nothing_but_white_space_adds_nothing(project: Project) -> None:
    project.write("evals/blank.md", " \n")
    request = project.request(
        "input_messages: [{role: user, content: [{type: text, file: blank.md}, {type: text, value: hi}]}]"
    )
    assert prompt_of(request) == [("user", "hi")]


def test_a_chat_prompt_with_media_may_be_made_by_hand() -> None:
    image = Media("image", "a.png", "image/png", PNG)
    request = ProviderRequest(chat_prompt=(ChatMessage("user", ("hi", image)),))
    assert prompt_of(request) == [("user", ("hi", image))]
