"""Find the folders of the import package; everything else is in pyproject.toml.

The package ``gardenpath`` is the folder ``src`` with ``conf`` inside it, which the settings
of setuptools cannot find by themselves.
"""

from setuptools import find_packages, setup

setup(
    package_dir={"gardenpath": "src", "gardenpath.conf": "conf"},
    packages=[
        "gardenpath",
        *(f"gardenpath.{name}" for name in find_packages("src")),
        "gardenpath.conf",
    ],
)
