"""The assistants' side: the Model Context Protocol over the engine's boards. It decides nothing.

Tools are those of `tools.assistant.tools.TOOLS`; beside them there are resources (`resources.py`), prompts
(`prompts.py`), completion, and notifications of changes in both eras of the protocol (`notifications.py`). A
decision is asked of the person by elicitation (`elicitation.py`); no tool runs a command.

Importing this package costs a second and a half, so it is imported when the first assistant comes.
"""
