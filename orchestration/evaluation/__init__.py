"""Assembles the Evaluation: suggestion, tasks, questions, evidence, advisories, permission."""
