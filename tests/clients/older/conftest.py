"""Settings of clients, before they are imported."""

from __future__ import annotations

import os

# Otherwise litellm fetches a list of prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
