"""The preflight rules of each API, one table for each vendor.

To add a rule, write its function in the `*_rules` module of its topic, and add one line here: the rule's name, the
vendor's document, the function. Provider classes name their table in `rules`. What differs from model to
model is data in `models`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from pytest_chatprompt.providers.preflight import (
    definition_rules,
    media_rules,
    schema_rules,
    setting_rules,
    tool_call_rules,
    turn_rules,
)
from pytest_chatprompt.providers.preflight.rule import Rule

_OPENAI: Final = "https://platform.openai.com/docs/api-reference/chat/create"
_OPENAI_TOOLS: Final = "https://platform.openai.com/docs/guides/function-calling"
_OPENAI_JSON: Final = "https://platform.openai.com/docs/guides/structured-outputs#json-mode"
_OPENAI_SCHEMAS: Final = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
_OPENAI_REASONING: Final = "https://platform.openai.com/docs/guides/reasoning"
_OPENAI_MODELS: Final = "https://platform.openai.com/docs/models"
_OPENAI_IMAGES: Final = "https://developers.openai.com/api/docs/guides/images-vision"
_OPENAI_FILES: Final = "https://developers.openai.com/api/docs/guides/pdf-files"
_AZURE_LIMITS: Final = "https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits"
_ANTHROPIC: Final = "https://platform.claude.com/docs/en/api/messages/create"
_ANTHROPIC_ERRORS: Final = "https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md"
_ANTHROPIC_PREFILL: Final = "https://platform.claude.com/docs/en/api/errors#prefill-not-supported"
_ANTHROPIC_BLANKS: Final = "https://docs.claude.com/en/docs/prefill-claudes-response"
_ANTHROPIC_TOOLS: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
_ANTHROPIC_TOOL_NAMES: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
_ANTHROPIC_MODELS: Final = "https://platform.claude.com/docs/en/about-claude/models/overview"
_ANTHROPIC_SAMPLING: Final = "https://platform.claude.com/docs/en/api/versioning"
_ANTHROPIC_IMAGES: Final = "https://platform.claude.com/docs/en/build-with-claude/vision"
_ANTHROPIC_SIZES: Final = "https://platform.claude.com/docs/en/api/overview#request-size-limits"
_GEMINI: Final = "https://ai.google.dev/api/generate-content"
_GEMINI_TOOLS: Final = "https://ai.google.dev/gemini-api/docs/function-calling"
_GEMINI_THOUGHTS: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_GEMINI_IMAGES: Final = "https://ai.google.dev/gemini-api/docs/image-understanding"
_GEMINI_FILES: Final = "https://ai.google.dev/gemini-api/docs/file-input-methods"
_GEMINI_MODELS: Final = "https://ai.google.dev/gemini-api/docs/models"
_GEMINI_SDK: Final = "https://github.com/googleapis/python-genai/blob/main/README.md"
_RESPONSES: Final = "https://platform.openai.com/docs/api-reference/responses/create"
_BEDROCK: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
_BEDROCK_TOOLS: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html"
_BEDROCK_CALLS: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html"
_BEDROCK_CONFIG: Final = (
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html"
)
_BEDROCK_MEDIA: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html"
_BEDROCK_MODELS: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/model-cards.html"
_OLLAMA: Final = "https://docs.ollama.com/api/openai-compatibility"
_OLLAMA_SOURCE: Final = "https://github.com/ollama/ollama/blob/main/openai/openai.go"
_OPENROUTER: Final = "https://openrouter.ai/docs/api-reference/parameters"
_OPENROUTER_TOOLS: Final = "https://openrouter.ai/docs/features/tool-calling"

# A pattern for names of functions, and the same in words.
_OPENAI_NAME: Final = (r"[a-zA-Z0-9_-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ and -")
_ANTHROPIC_NAME: Final = (r"[a-zA-Z0-9_-]{1,128}", "1 to 128 of a-z, A-Z, 0-9, _ and -")
_GEMINI_NAME: Final = (
    r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    "a letter or _, then up to 127 of a-z, A-Z, 0-9, _ . : -",
)
_BEDROCK_CALL_ID: Final = (r"[a-zA-Z0-9_.:-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ . : and -")
_OPENAI_SAMPLING: Final = (
    *("top_p", "presence_penalty", "frequency_penalty"),
    *("logprobs", "top_logprobs", "logit_bias"),
)

_of_calls: Final = partial(Rule, topic="tool calls")
_of_definitions: Final = partial(Rule, topic="definitions")
_of_media: Final = partial(Rule, topic="media")

# The same in chat completions and Responses.
_OPENAI_DEFINITIONS: Final = (
    _of_definitions("tool-name", _OPENAI, definition_rules.tool_names(*_OPENAI_NAME)),
    _of_definitions("tool-name-twice", _OPENAI_TOOLS, definition_rules.names_defined_twice),
    _of_definitions("tool-choice", _OPENAI, definition_rules.choices_without_tools),
    _of_definitions("schema-name", _OPENAI, definition_rules.schema_name),
    _of_definitions("json-word", _OPENAI_JSON, definition_rules.json_without_the_word),
    _of_definitions("strict-additional-properties", _OPENAI_SCHEMAS, schema_rules.objects_with_more_properties),
    _of_definitions("strict-required", _OPENAI_SCHEMAS, schema_rules.properties_not_required),
    _of_definitions("strict-keyword", _OPENAI_SCHEMAS, schema_rules.keywords_refused),
    _of_definitions("strict-root", _OPENAI_SCHEMAS, schema_rules.root_not_an_object),
    _of_definitions("strict-size", _OPENAI_SCHEMAS, schema_rules.schemas_too_large),
)
_OPENAI_MEDIA: Final = (
    _of_media("image-count", _OPENAI_IMAGES, media_rules.too_many("image", 1500)),
    _of_media("media-total", _OPENAI_FILES, media_rules.too_large_together(50, "bytes", "document")),
)
_OPENAI_SETTINGS: Final = (
    Rule("output-cap", _OPENAI_MODELS, setting_rules.max_output_tokens_above_limit),
    Rule("temperature", _OPENAI, setting_rules.temperature_range(2)),
    Rule("temperature-fixed", _OPENAI_MODELS, setting_rules.temperature_not_accepted),
    Rule("sampling-fixed", _OPENAI_REASONING, setting_rules.sampling_not_accepted(_OPENAI_SAMPLING)),
)
_OPENAI_PREFILL: Final = Rule(
    "prefill",
    _OPENAI,
    turn_rules.assistant_message_last(
        "{vendor} does not continue a final assistant message but answers after it; end the case with a user message"
    ),
)

OPENAI_RULES: Final = (
    _of_calls("tool-call-id", _OPENAI, tool_call_rules.results_without_id),
    _of_calls("tool-result-content", _OPENAI, tool_call_rules.results_without_content),
    _of_calls("tool-result-without-call", _OPENAI_TOOLS, tool_call_rules.results_without_call),
    _of_calls("tool-call-without-result", _OPENAI_TOOLS, tool_call_rules.calls_without_results),
    _of_calls("tool-result-order", _OPENAI_TOOLS, tool_call_rules.results_out_of_order),
    _of_calls("tool-call-id-twice", _OPENAI_TOOLS, tool_call_rules.call_ids_used_twice),
    _of_calls("function-name", _OPENAI, tool_call_rules.function_names(*_OPENAI_NAME)),
    *_OPENAI_DEFINITIONS,
    *_OPENAI_MEDIA,
    Rule("speaker-name", _OPENAI, turn_rules.speaker_names),
    _OPENAI_PREFILL,
    *_OPENAI_SETTINGS,
    Rule("max-tokens", _OPENAI, setting_rules.max_tokens_not_accepted),
)

# Azure takes fewer images; its document says so of GPT-4o and GPT-4.1.
AZURE_RULES: Final = (
    *(rule for rule in OPENAI_RULES if rule.name != "image-count"),
    _of_media("image-count", _AZURE_LIMITS, media_rules.too_many("image", 50)),
)

OPENAI_RESPONSES_RULES: Final = (
    _of_calls("tool-call-without-result", _OPENAI_TOOLS, tool_call_rules.calls_never_answered),
    _of_calls("tool-call-id-twice", _OPENAI_TOOLS, tool_call_rules.call_ids_used_twice),
    _of_calls("function-name", _RESPONSES, tool_call_rules.function_names(*_OPENAI_NAME)),
    *_OPENAI_DEFINITIONS,
    *_OPENAI_MEDIA,
    _OPENAI_PREFILL,
    *_OPENAI_SETTINGS,
    # The API's own error says so: "Expected a value >= 16".
    Rule("output-minimum", _RESPONSES, setting_rules.max_output_tokens_below(16)),
)

OLLAMA_RULES: Final = (
    _of_calls("tool-result-content", _OLLAMA_SOURCE, tool_call_rules.results_without_content),
    _of_definitions("tool-choice-ignored", _OLLAMA_SOURCE, definition_rules.choices_ignored),
)

OPENROUTER_RULES: Final = (
    _of_calls("tool-call-id", _OPENROUTER_TOOLS, tool_call_rules.results_without_id),
    _of_calls("tool-result-without-call", _OPENROUTER_TOOLS, tool_call_rules.results_without_call),
    _of_calls("tool-call-without-result", _OPENROUTER_TOOLS, tool_call_rules.calls_without_results),
    _of_definitions("tool-choice", _OPENROUTER_TOOLS, definition_rules.choices_without_tools),
    Rule("temperature", _OPENROUTER, setting_rules.temperature_range(2)),
)

ANTHROPIC_RULES: Final = (
    _of_calls("tool-call-without-result", _ANTHROPIC_TOOLS, tool_call_rules.calls_without_results),
    _of_calls("tool-result-order", _ANTHROPIC_TOOLS, tool_call_rules.results_out_of_order),
    _of_calls("tool-result-twice", _ANTHROPIC_TOOLS, tool_call_rules.results_given_twice),
    _of_calls(
        "function-name",
        _ANTHROPIC_TOOL_NAMES,
        tool_call_rules.function_names(*_ANTHROPIC_NAME),
    ),
    _of_calls("tool-call-id-twice", _ANTHROPIC_TOOLS, tool_call_rules.call_ids_used_twice),
    _of_definitions("tool-name", _ANTHROPIC_TOOL_NAMES, definition_rules.tool_names(*_ANTHROPIC_NAME)),
    _of_definitions("tool-name-twice", _ANTHROPIC_TOOL_NAMES, definition_rules.names_defined_twice),
    _of_definitions("tool-choice", _ANTHROPIC_TOOL_NAMES, definition_rules.choices_without_tools),
    # 100 for models with a context of 200,000 tokens.
    _of_media("image-count", _ANTHROPIC_IMAGES, media_rules.too_many("image", 600)),
    _of_media("media-size", _ANTHROPIC_IMAGES, media_rules.too_large("image", 10, "base64")),
    _of_media("media-total", _ANTHROPIC_SIZES, media_rules.too_large_together(32, "base64")),
    Rule("first-turn", _ANTHROPIC_ERRORS, turn_rules.first_turn_not_the_users),
    Rule("merged-turns", _ANTHROPIC, turn_rules.merged_turns),
    Rule("prefill", _ANTHROPIC_PREFILL, turn_rules.prefill_not_supported),
    Rule("prefill-blanks", _ANTHROPIC_BLANKS, turn_rules.trailing_blanks_in_prefill),
    Rule("output-cap", _ANTHROPIC_MODELS, setting_rules.max_output_tokens_above_limit),
    Rule("temperature", _ANTHROPIC, setting_rules.temperature_range(1)),
    Rule("temperature-fixed", _ANTHROPIC_SAMPLING, setting_rules.temperature_not_accepted),
    Rule("temperature-removed", _ANTHROPIC_SAMPLING, setting_rules.temperature_removed),
    Rule("sampling-fixed", _ANTHROPIC_SAMPLING, setting_rules.sampling_not_accepted(("top_p",))),
    Rule("sampling-removed", _ANTHROPIC_SAMPLING, setting_rules.top_p_removed),
)

GEMINI_RULES: Final = (
    _of_calls("tool-call-without-result", _GEMINI_TOOLS, tool_call_rules.calls_without_results),
    _of_calls("tool-result-order", _GEMINI_TOOLS, tool_call_rules.results_out_of_order),
    _of_calls("tool-result-twice", _GEMINI_TOOLS, tool_call_rules.results_given_twice),
    _of_calls("tool-call-order", _GEMINI_TOOLS, tool_call_rules.calls_after_an_answer),
    _of_calls("thought-signature", _GEMINI_THOUGHTS, tool_call_rules.calls_without_thought_signatures),
    _of_calls(
        "function-name",
        _GEMINI,
        tool_call_rules.function_names(*_GEMINI_NAME),
    ),
    _of_definitions("tool-name", _GEMINI, definition_rules.tool_names(*_GEMINI_NAME)),
    _of_definitions("tool-name-twice", _GEMINI_TOOLS, definition_rules.names_defined_twice),
    _of_definitions("tool-choice", _GEMINI_TOOLS, definition_rules.choices_without_tools),
    _of_media("image-count", _GEMINI_IMAGES, media_rules.too_many("image", 3600)),
    _of_media("media-total", _GEMINI_FILES, media_rules.too_large_together(100, "base64")),
    Rule(
        "last-turn",
        _GEMINI,
        turn_rules.assistant_message_last(
            "{vendor} expects the last turn from the user or a tool; end the case with a user message"
        ),
    ),
    Rule("model-alias", _GEMINI_SDK, setting_rules.aliases_of_beta),
    Rule("output-cap", _GEMINI_MODELS, setting_rules.max_output_tokens_above_limit),
    Rule("temperature", _GEMINI, setting_rules.temperature_range(2)),
)

# What only the API's own errors say: results right after their calls ("Expected toolResult blocks at ..."), a user who
# begins, roles that alternate, texts that are not blank, tools ("The toolConfig field must be defined when using
# toolUse and toolResult content blocks"), and that the documents of all messages count ("You can't include more than 5
# documents in a request").
BEDROCK_RULES: Final = (
    _of_calls("tool-call-without-result", _BEDROCK_TOOLS, tool_call_rules.calls_without_results),
    _of_calls("tool-result-order", _BEDROCK_TOOLS, tool_call_rules.results_out_of_order),
    _of_calls("tool-result-twice", _BEDROCK_TOOLS, tool_call_rules.results_given_twice),
    _of_calls("tool-result-blank", _BEDROCK, tool_call_rules.blank_results),
    _of_calls("tools-missing", _BEDROCK_TOOLS, tool_call_rules.calls_without_tools),
    _of_calls("call-id", _BEDROCK_CALLS, tool_call_rules.call_ids(*_BEDROCK_CALL_ID)),
    _of_calls("function-name", _BEDROCK_CALLS, tool_call_rules.function_names(*_OPENAI_NAME)),
    _of_definitions("tool-name", _BEDROCK_CALLS, definition_rules.tool_names(*_OPENAI_NAME)),
    _of_definitions("tool-name-twice", _BEDROCK_TOOLS, definition_rules.names_defined_twice),
    _of_definitions("tool-choice", _BEDROCK_TOOLS, definition_rules.choices_without_tools),
    _of_media("image-count", _BEDROCK_MEDIA, media_rules.too_many_in_a_message("image", 20)),
    _of_media("document-count", _BEDROCK_MEDIA, media_rules.too_many("document", 5)),
    _of_media("document-text", _BEDROCK_MEDIA, media_rules.documents_without_text),
    _of_media("media-size", _BEDROCK_MEDIA, media_rules.too_large("image", 3.75, "bytes")),
    _of_media("document-size", _BEDROCK_MEDIA, media_rules.too_large("document", 4.5, "bytes")),
    Rule("first-turn", _BEDROCK, turn_rules.first_turn_not_the_users),
    Rule("alternating-turns", _BEDROCK, turn_rules.turns_of_the_same_role),
    Rule("prefill", _ANTHROPIC_PREFILL, turn_rules.prefill_not_supported),
    Rule("output-cap", _BEDROCK_MODELS, setting_rules.max_output_tokens_above_limit),
    Rule("temperature", _BEDROCK_CONFIG, setting_rules.temperature_range(1)),
    Rule("temperature-fixed", _ANTHROPIC_SAMPLING, setting_rules.temperature_not_accepted),
    Rule("sampling-fixed", _ANTHROPIC_SAMPLING, setting_rules.sampling_not_accepted(("topP",), "inferenceConfig")),
)
