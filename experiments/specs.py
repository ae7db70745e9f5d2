"""Reads a spec.toml, whose keys harness/commands/experiment.hpp explains. Standard library only."""
import tomllib


def read_tables(text, key="case"):
    """The [[case]] tables, or those of another key, of a text: one for each of their `cases`, with the keys of [defaults] that they
    lack, and with the words of [lists] replaced. Throws tomllib.TOMLDecodeError."""
    spec = tomllib.loads(text)
    lists = {f"@{name}": words for name, words in spec.get("lists", {}).items()}

    def replaced(value):
        return [w for word in value for w in lists.get(word, [word])] if isinstance(value, list) else value

    tables = [spec.get("defaults", {}) | table | one for table in spec.get(key, []) for one in table.get("cases") or [{}]]
    return [{k: replaced(v) for k, v in table.items() if k != "cases"} for table in tables]
