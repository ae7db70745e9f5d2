"""Reads a spec.toml, whose keys harness/commands/experiment.hpp explains. Standard library only."""
import tomllib


def read_tables(text, key="case"):
    """The [[case]] tables, or those of another key, of a text: with the keys of [defaults] that they lack, and with the
    words of [lists] replaced. Throws tomllib.TOMLDecodeError."""
    spec = tomllib.loads(text)
    lists = {f"@{name}": words for name, words in spec.get("lists", {}).items()}

    def replaced(value):
        return [w for word in value for w in lists.get(word, [word])] if isinstance(value, list) else value

    return [{k: replaced(v) for k, v in (spec.get("defaults", {}) | table).items()} for table in spec.get(key, [])]
