"""Detect network file systems, where some ways of sharing files do not work."""

from __future__ import annotations

from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")

# File-system types, as named by Linux.
_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "ocfs2", "orangefs", "panfs", "smb3", "smbfs", "wekafs", "fuse.ceph", "fuse.glusterfs",
    "fuse.s3fs", "fuse.sshfs",
}  # fmt: skip


def is_network(path: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Whether a path is on a network file system; False if the system does not tell."""
    place = path.resolve()
    longest, kind = -1, ""
    for folder, name in _mounted(mounts):
        if place.is_relative_to(folder) and len(folder.parts) >= longest:
            longest, kind = len(folder.parts), name
    return kind in _NETWORK


def _mounted(mounts: Path) -> list[tuple[Path, str]]:
    """Return mounted folders with their file-system types; later mounts cover earlier ones."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    # The kernel writes spaces and tabs in names as octal numbers.
    return [
        (Path(one[1].replace("\\040", " ").replace("\\011", "\t")), one[2])
        for one in fields
        if len(one) >= 3
    ]
