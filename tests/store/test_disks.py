"""Which paths are on a network file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.store.files import is_network

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/scratch xfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
me@host: /mnt/far\\040away fuse.sshfs rw 0 0
/dev/fuse /mnt/near fuse.ntfs rw 0 0
nonsense
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/cats", False),
        ("/home/me/cats", True),
        ("/homes/me/cats", False),
        ("/home/scratch/cats", False),
        ("/mnt/far away/cats", True),
        ("/mnt/near/cats", False),
    ],
)
def test_the_longest_mounted_folder_decides(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS, encoding="utf-8")
    assert is_network(Path(path), mounts=tmp_path / "mounts") is expected


def test_a_later_mount_covers_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text("a /x ext4 rw\nb:/ /x lustre rw\n", encoding="utf-8")
    assert is_network(Path("/x/y"), mounts=tmp_path / "mounts")


def test_a_system_that_does_not_say(tmp_path: Path) -> None:
    assert not is_network(tmp_path, mounts=tmp_path / "absent")
