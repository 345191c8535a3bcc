"""Recording: keep the replies of real APIs, and give each to its very request again."""
