"""Paths by the folder that they are in: what is known below a folder is found without a look at all else."""

from __future__ import annotations

from ...orchestration.vfs.files import parent


class PathIndex:
    """Known paths by the folder they are in, so that those below one are found without a look at others.

    `appeared` are the folders of known paths since somebody last emptied it.
    """

    def __init__(self) -> None:
        self._children: dict[str, dict[str, int]] = {}
        self.appeared: list[str] = []

    def add(self, path: str) -> None:
        """A path is known once more."""
        while path:
            folder = parent(path)
            if folder not in self._children:
                self._children[folder] = {}
                self.appeared.append(folder)
            children = self._children[folder]
            children[path] = children.get(path, 0) + 1
            path = folder

    def remove(self, path: str) -> None:
        """A path is known once less."""
        while path:
            folder = parent(path)
            children = self._children.get(folder, {})
            if path not in children:
                return
            children[path] -= 1
            if not children[path]:
                del children[path]
                if not children:
                    del self._children[folder]
            path = folder

    def folders(self) -> set[str]:
        return set(self._children)

    def below(self, folder: str) -> list[str]:
        """The paths right below a folder that are known, or lead to known ones."""
        return list(self._children.get(folder, ()))
