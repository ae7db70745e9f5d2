"""Every exception of this package, by its cause."""
import importlib


def needed(module, extra):
    """An optional module; ImportError names the extra of this package that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"gsofa.{extra} needs {e.name or module}, of the extra gsofa[{extra}]: pip install {e.name or module}") from e


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
