"""Operations that several front ends share: checks, quick fixes, assistants' tools."""
