"""The Evaluation value, its JSON form and schema, and the phrases that say it."""
