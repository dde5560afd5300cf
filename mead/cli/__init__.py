"""The commands of `flask mead ...`: a file per group, thin over `Mead` or the control socket."""

from mead.cli.group import mead_group

__all__ = ["mead_group"]
