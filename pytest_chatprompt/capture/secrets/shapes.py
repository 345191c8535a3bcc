"""Token shapes: credentials that are recognised by their form alone.

To add a shape: one row in the table, below the vendor's own description of it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pytest_chatprompt.capture.secrets.names import is_counted, is_example


class Token(NamedTuple):
    """A part of a text that has the shape of a credential."""

    start: int
    end: int
    name: str


class TokenShape(NamedTuple):
    """The shape of one kind of credential: its name in errors, the text that it begins with, a pattern for the rest."""

    name: str
    start: str
    rest: str

    @property
    def pattern(self) -> str:
        """The whole pattern. It begins with literal characters, to which `re` jumps."""
        start = re.escape(self.start)
        before = "|".join(f"{each}{start})" for each in _BEFORE)
        return f"{start}(?:{before}){self.rest}"


# The end of a longer word does not count: `task-`. That of an escape in front does: `\\nghp_...`.
_BEFORE: Final = (r"(?<![A-Za-z0-9]", r"(?<=\\[nrt]", r"(?<=\\u[0-9A-Fa-f]{4}", r"(?<=%[0-9A-Fa-f]{2}")
_NOT_IN_WORD: Final = r"(?![A-Za-z0-9_-])"
# The lines of a key may be indented or quoted, or be one line with the two characters `\n` in place of each line break.
_PEM_BREAK: Final = r"(?:\s|\\[nr]|[E>|#] )"
# What a document writes in place of a token.
_PLACEHOLDER: Final = "x" * 12

TOKEN_SHAPES: Final = (
    # https://docs.anthropic.com/en/api/admin-api/apikeys/get-api-key
    TokenShape("an Anthropic API key", "sk-", r"ant-[A-Za-z0-9_-]{32,}"),
    # https://help.openai.com/en/articles/9186755-managing-projects-in-the-api-platform
    TokenShape("an OpenAI API key", "sk-", r"(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32,}"),
    # OpenAI's older keys, and those of vendors with a compatible API, such as OpenRouter's `sk-or-v1-...`.
    # https://openrouter.ai/docs/api-reference/authentication
    TokenShape("an API key", "sk-", r"(?!(?:ant|proj|svcacct|admin|None)-)(?:[a-z0-9]{1,8}-){0,2}[A-Za-z0-9]{32,}"),
    # Vendors of models that do not describe their keys; scanners for secrets do.
    # https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors/groq
    TokenShape("a Groq API key", "gsk_", rf"[A-Za-z0-9]{{52}}{_NOT_IN_WORD}"),
    # https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors/xai
    TokenShape("an xAI API key", "xai-", rf"[A-Za-z0-9_]{{80}}{_NOT_IN_WORD}"),
    # https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
    TokenShape("a Perplexity API key", "pplx-", r"[A-Za-z0-9]{40,}"),
    # https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors/replicate
    TokenShape("a Replicate token", "r8_", rf"[A-Za-z0-9]{{37}}{_NOT_IN_WORD}"),
    # https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
    TokenShape("an Amazon Bedrock API key", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}"),
    # https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors/langsmith
    TokenShape("a LangSmith API key", "lsv2_", rf"(?:pt|sk)_[a-f0-9]{{32}}_[a-f0-9]{{10}}{_NOT_IN_WORD}"),
    # https://docs.gitlab.com/security/tokens/#token-prefixes
    TokenShape("a GitLab token", "glpat-", r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9]+){0,2}"),
    # https://docs.slack.dev/authentication/tokens
    TokenShape("a Slack token", "xox", r"[a-z]-[0-9]+-[A-Za-z0-9-]{16,}"),
    # https://docs.slack.dev/authentication/tokens
    TokenShape("a Slack token", "xapp-", r"[0-9]-[A-Z0-9]+-[0-9]+-[A-Za-z0-9]{32,}"),
    # https://github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available/
    *(TokenShape("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9_]{36,}(?:\.[A-Za-z0-9_-]+){0,2}") for kind in "pousr"),
    # https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
    TokenShape("a GitHub token", "github_pat_", r"[A-Za-z0-9_]{60,}"),
    # https://huggingface.co/docs/hub/security-tokens
    TokenShape("a Hugging Face token", "hf_", rf"[A-Za-z0-9]{{34}}{_NOT_IN_WORD}"),
    # https://docs.stripe.com/keys
    *(TokenShape("a Stripe live key", f"{kind}k_live_", r"[A-Za-z0-9]{10,}") for kind in "rs"),
    # https://github.blog/changelog/2021-09-23-npm-has-a-new-access-token-format/
    TokenShape("an npm token", "npm_", rf"[A-Za-z0-9]{{36}}{_NOT_IN_WORD}"),
    # https://cloud.google.com/docs/authentication/api-keys
    TokenShape("a Google API key", "AIza", rf"[A-Za-z0-9_-]{{35}}{_NOT_IN_WORD}"),
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
    *(TokenShape("an AWS access key", f"A{kind}IA", rf"[A-Z0-9]{{16}}{_NOT_IN_WORD}") for kind in "KS"),
    # https://www.rfc-editor.org/rfc/rfc7519#section-3. No header is longer: a text of many beginnings would take hours.
    TokenShape("a JSON web token", "eyJ", r"[A-Za-z0-9_-]{8,8000}\.ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}"),
    # https://www.rfc-editor.org/rfc/rfc7468#section-10
    TokenShape(
        "a private key",
        "-----BEGIN ",
        rf"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:{_PEM_BREAK}|[A-Za-z-]+: [^\n\0]*\n)*[A-Za-z0-9+/]{{40}}"
        rf"(?:(?:[A-Za-z0-9+/=]|{_PEM_BREAK})*-----END [A-Z0-9 ]+-----"
        rf"|[A-Za-z0-9+/=]*(?:{_PEM_BREAK}+[A-Za-z0-9+/]{{40,}}={{0,2}})*)",
    ),
    # https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas#specify-the-signature
    TokenShape("the signature of an Azure SAS", "sig=", r"(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd])"),
    # https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string
    TokenShape("an Azure account key", "AccountKey=", r"[A-Za-z0-9+/]{43,}={1,2}"),
    # https://learn.microsoft.com/en-us/azure/service-bus-messaging/service-bus-sas
    TokenShape("an Azure access key", "SharedAccessKey=", r"[A-Za-z0-9+/]{43,}={1,2}"),
    # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    TokenShape("a Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9_/]{30,}"),
)


def find_tokens(text: str) -> list[Token]:
    """Find the parts of a text that have the shape of a credential; placeholders such as `ghp_xxxxxx` do not count."""
    return [
        Token(*match.span(), shape.name)
        for shape in TOKEN_SHAPES
        if shape.start in text
        for match in re.finditer(shape.pattern, text)
        if not (
            _PLACEHOLDER in match[0].lower() or is_example(match[0]) or is_counted(match[0].removeprefix(shape.start))
        )
    ]
