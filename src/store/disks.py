"""Whether a folder is on a network file system, where some ways of sharing files do not work."""

from __future__ import annotations

from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")

# Types as Linux names them.
_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "ocfs2", "orangefs", "panfs", "smb3", "smbfs", "wekafs", "fuse.ceph", "fuse.glusterfs",
    "fuse.s3fs", "fuse.sshfs",
}  # fmt: skip


def is_network(path: Path, *, mounts: Path = _MOUNTS) -> bool:
    """Whether a path is on a network file system; False where the system does not say."""
    place = path.resolve()
    longest, kind = -1, ""
    for folder, name in _mounted(mounts):
        if place.is_relative_to(folder) and len(folder.parts) >= longest:
            longest, kind = len(folder.parts), name
    return kind in _NETWORK


def _mounted(mounts: Path) -> list[tuple[Path, str]]:
    """Mounted folders with the types of their file systems; later ones cover earlier ones."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    fields = [line.split() for line in lines]
    # The kernel writes blanks in names as octal numbers.
    return [
        (Path(one[1].replace("\\040", " ").replace("\\011", "\t")), one[2])
        for one in fields
        if len(one) >= 3
    ]
