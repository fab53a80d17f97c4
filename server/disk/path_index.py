"""What is known of a root's paths: the folders they are in, and the texts of those used last."""

from __future__ import annotations

from collections import OrderedDict

from ...orchestration.vfs.files import File, parent
from .disk_files import MEBIBYTE

TEXT_BYTES = 4 * MEBIBYTE
"""So much text is kept; a file that was not looked at for long is read again when it is needed."""


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


class TextCache:
    """Files with their texts, those used last; together not more than `TEXT_BYTES`."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, File] = OrderedDict()
        self._size = 0

    def get(self, path: str) -> File | None:
        file = self._files.get(path)
        if file is not None:
            self._files.move_to_end(path)
        return file

    def keep(self, file: File) -> None:
        self.drop(file.path)
        if file.text is None:
            return
        self._files[file.path] = file
        self._size += file.size
        while self._size > TEXT_BYTES:
            _, oldest = self._files.popitem(last=False)
            self._size -= oldest.size

    def drop(self, path: str) -> None:
        file = self._files.pop(path, None)
        self._size -= file.size if file else 0
