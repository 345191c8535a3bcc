"""Providers that hand a task to an agent: Codex, VS Code, or any command line."""
