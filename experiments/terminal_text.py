"""Text of files and arguments as a terminal may show it. Standard library only."""

import unicodedata

# Control characters, format characters (some reverse the direction of the text around them), surrogates of bytes that are not
# UTF-8, and separators of lines and paragraphs.
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text):
    """The text with a question mark in place of every character that a terminal obeys or does not show."""
    return "".join("?" if unicodedata.category(c) in HIDDEN else c for c in str(text))
