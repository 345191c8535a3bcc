"""Providers that hand a task to an agent: Codex, VS Code, or any command line.

To add an agent: one module with a subclass of `AgentProvider`, one line in `apis.table`, one fixture.
"""
