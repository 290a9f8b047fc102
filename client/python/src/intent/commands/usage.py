"""What a command line can do wrong."""


class UsageError(Exception):
    """A command line that means nothing; its text says why."""
