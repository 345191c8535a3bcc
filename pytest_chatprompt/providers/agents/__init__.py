"""Providers that hand a task to an agent: Codex, VS Code, or any command line.

A `ProviderRequest` comes in; its `question` and files become one document, and a command that runs an agent on it.
Out come an `AgentInvocation` (the command and the document; nothing is started) and, after a run, a `ProviderResponse`.
`apis.table`, `capture` and `snapshots` call this room; users import its public names from `pytest_chatprompt`.
To add an agent: one module here with a subclass of `AgentProvider`, one line in `apis.table`, one fixture.
"""
