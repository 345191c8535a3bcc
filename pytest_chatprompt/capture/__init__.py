"""Capture: see what a provider or an application sends to a model, and answer it offline."""
