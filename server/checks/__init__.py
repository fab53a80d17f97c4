"""Running declared checks in processes of their own, who trusts them, what their results are worth."""
