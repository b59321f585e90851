"""The exit codes of the command line, the same for every command."""

OK = 0
NOT_READY = 1
"""`acidtest doctor` found that something needed does not work here."""
USER_ERROR = 2
"""Something that the user gave cannot be used: one sentence on stderr says what."""
UNAVAILABLE = 3
"""Something could not be scored or run through a fault of the machine: the same command may work later."""
INTERRUPTED = 130
BROKEN_PIPE = 141
