"""Secret names: which names say that a secret stands behind them."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.secrets.names import (
    SecretKind,
    is_secret_name,
    is_secret_parameter,
    kind_of_key,
    kind_of_variable,
)

PHRASE, KEY, UNCERTAIN = SecretKind.PHRASE, SecretKind.KEY, SecretKind.UNCERTAIN


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            PHRASE,
            "PGPASSWORD MYSQL_PWD LDAP_BIND_PW PASSCODE DB_PASS DB_PASSWORD db_password dbPassword SSHPASS REDIS_PASSPHRASE GITHUB_TOKEN "
            "AUTH_TOKENS AWS_SECRET AWS_SECRET_ACCESS_KEY SECRET_KEY_BASE APP_CREDENTIALS GCP_CREDENTIALS_JSON "
            "GITHUB_TOKEN_PROD TOKEN_OPENAI npm_config_authtoken X-Auth-Token x-amz-security-token ACCESS_TOKEN_2",
        ),
        (
            KEY,
            "OPENAI_API_KEY OPENAI_API_KEY_2 OPENAI_API_KEY2 API_KEYS APIKEY openaiApiKey OPENAI_APIKEY GITHUB_PAT "
            "STRIPE_PRIVATE_KEY AZURE_STORAGE_KEY ACCOUNT_KEY SUBSCRIPTION_KEY API_KEY_OPENAI API_KEY_PROD_2 "
            "JENKINS_AUTH Ocp-Apim-Subscription-Key x-api-key api-key x-goog-api-key authorization cookie "
            "Proxy-Authorization x-functions-key SAS_SIG",
        ),
        (UNCERTAIN, "KEY SSH_KEY AZURE_OPENAI_KEY deploy_keys"),
        (
            None,
            "HOME PATH PWD OLDPWD KEYBOARD MONKEY MYKEYX MYTOKENX KEYS TOKENS PARTITION_KEY SORT_KEY CACHE_KEY "
            "PRIMARY_KEY SSH_PUBLIC_KEY GPG_KEY IDEMPOTENCY_KEY idempotency-key MAX_TOKENS max_output_tokens EOS_TOKEN "
            "next_page_token TOKENIZERS_PARALLELISM AWS_ACCESS_KEY_ID PASSWORD_FILE TOKEN_URL SECRET_NAME KEY_PATH "
            "nextPageToken nextToken NextContinuationToken continuation_token pagetoken nexttoken $skiptoken paginationToken "
            "starting_token prev_page_token syncToken deltaToken resumeToken scroll_token progressToken idempotencyToken "
            "PASSWORD_STORE_DIR SSH_AUTH_SOCK KEY_VAULT COMPASS PATTERN AUTHOR content-type sec-websocket-key 7 _",
        ),
    ],
    ids=["phrases", "keys", "uncertain", "others"],
)
def test_the_name_of_a_variable_or_header_says_what_it_holds(kind: SecretKind | None, names: str) -> None:
    assert {name: kind_of_variable(name) for name in names.split()} == dict.fromkeys(names.split(), kind)
    assert {is_secret_name(name) for name in names.split()} == {kind is not None}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (PHRASE, "password db_password client_secret clientSecret secret access_token accessToken refreshToken"),
        (PHRASE, "authorization_token credentials pgpassword authToken bot_token"),
        (KEY, "api_key apiKey x-api-key subscription-key authorization Authorization private_key openaiApiKey apikey"),
        (
            None,
            "key token code Code clientToken client_request_token sig auth pass ssh_key some_token secret_santa cookie api_tokens_left "
            "signature thought_signature thoughtSignature max_tokens maxOutputTokens prompt_cache_key partition_key "
            "next_page_token tokens keys stop_token country_code role content model keyword token_count passage encoded",
        ),
    ],
    ids=["phrases", "tokens", "keys", "others"],
)
def test_the_key_of_a_body_says_what_it_holds(kind: SecretKind | None, names: str) -> None:
    assert {name: kind_of_key(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_the_name_of_a_query_parameter_says_whether_it_is_hidden() -> None:
    hidden = "key token api_key api-key x-api-key subscription-key accessToken access_token sig code client_secret"
    hidden += " password X-Amz-Signature X-Amz-Credential auth apikey"
    shown = "page_token pageToken sort_key q api-version max_tokens maxTokens keys country_code keyword model alt"
    assert {name for name in f"{hidden} {shown}".split() if is_secret_parameter(name)} == set(hidden.split())
