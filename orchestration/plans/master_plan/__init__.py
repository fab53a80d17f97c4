"""The one dialect today: MASTER_PLAN.md, read and edited."""
