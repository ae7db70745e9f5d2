"""Every exception of this package, by its cause."""


class GsofaError(Exception):
    """Any of them."""


class InvalidInput(GsofaError, ValueError):
    """The matrix or an argument is wrong; the message names the row, the entry or the argument."""


class Unavailable(GsofaError, RuntimeError):
    """This build or this machine lacks what was asked for by name."""


class OutOfMemory(GsofaError, MemoryError):
    """The host, the device or the budget of memory has too little."""


class InternalError(GsofaError, RuntimeError):
    """The device or a library failed."""
