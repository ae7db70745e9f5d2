#!/usr/bin/env python3
"""Writes gsofa.f90: module.f90 with the constants, types and interfaces of gsofa.h in place of the line that names this script.

  generate.py OUTPUT
"""
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = "  ! generate.py writes the declarations here.\n"
KINDS = {"int": "integer(c_int)", "int32_t": "integer(c_int32_t)", "int64_t": "integer(c_int64_t)",
         "size_t": "integer(c_size_t)", "double": "real(c_double)"}
# Arrays that may be NULL, which an array of Fortran cannot be: their address is passed.
NULLABLE = {("gsofa_estimate", "permutation"), ("gsofa_order_pattern", "tree_sizes"), ("gsofa_order_device", "tree_sizes"),
            ("gsofa_analyzer_update", "previous"), ("gsofa_analyzer_update_device", "previous"),
            ("gsofa_match", "values"), ("gsofa_match", "row_scale"), ("gsofa_match", "col_scale")}


class Header:
    """The declarations of the header. Arrays are declared as `int32_t x[]`; a pointer to a number is one number."""

    def __init__(self, text):
        text = re.sub(r"//[^\n]*|^#[^\n]*", "", text, flags=re.M)
        text = re.sub(r"static inline[^{]*{[^}]*}", "", text)
        self.enums = [(name, ["".join(v.split()).split("=") for v in values.split(",")])
                      for values, name in re.findall(r"typedef enum \w+ {([^}]*)}\s*(\w+);", text)]
        self.structs = {name: [self.declared(m) for m in members.split(";") if m.strip()]
                        for members, name in re.findall(r"typedef struct \w+ {([^}]*)}\s*(\w+);", text)}
        self.callbacks = re.findall(r"typedef [^;{(]*\(\*(\w+)\)", text)
        self.functions = [(self.declared(result), [self.declared(p) for p in arguments.split(",") if p.strip() != "void"])
                          for result, arguments in re.findall(r"GSOFA_API ([^;(]*)\(([^)]*)\);", text)]
        assert len(self.functions) == text.count("GSOFA_API ")

    @staticmethod
    def declared(text):
        """(type, number of stars, name, whether it is an array, whether it is const) of one declaration."""
        const, kind, stars, name, array = re.fullmatch(r"(const )?(\w+)(\**) (\w+)(\[\])?", " ".join(text.split())).groups()
        return kind, len(stars), name, bool(array), bool(const)

    def member(self, kind, stars, name):
        if stars:
            return f"type(c_ptr) :: {name} = c_null_ptr"
        if kind in self.callbacks:
            return f"type(c_funptr) :: {name} = c_null_funptr"
        if kind in self.structs:
            return f"type({kind}) :: {name}"
        return f"{KINDS[kind]} :: {name} = 0"

    def argument(self, function, kind, stars, name, array, const):
        intent = "intent(in)" if const else "intent(inout)"
        if kind == "char":
            return f"character(kind=c_char), {intent}", f"{name}(*)"
        shape = f"{name}(*)" if array else name
        if stars - (not array) > 0:  # a pointer that the function sets
            return "type(c_ptr), intent(inout)", shape
        if (function, name) in NULLABLE or (kind not in KINDS and kind not in self.structs):
            return "type(c_ptr), value", name
        if not stars and not array:
            return f"{KINDS.get(kind, 'integer(c_int)')}, value", name
        return f"{KINDS.get(kind, f'type({kind})')}, {intent}", shape


def wrapped(indent, text):
    """The text as lines of free-form Fortran; `name = value` is not broken."""
    text = re.sub(r" = ", "\u00a0=\u00a0", text)
    lines = textwrap.wrap(text, 100 - indent, subsequent_indent="  ", break_long_words=False)
    return "".join(" " * indent + line.replace("\u00a0", " ") + (" &\n" if k + 1 < len(lines) else "\n") for k, line in enumerate(lines))


def interface(header, function):
    (kind, stars, name, _, _), arguments = function
    keyword = "subroutine" if (kind, stars) == ("void", 0) else f"{'type(c_ptr)' if stars else KINDS.get(kind, 'integer(c_int)')} function"
    declared = [header.argument(name, *a) for a in arguments]
    head = f"{name}({', '.join(a[2] for a in arguments)}) bind(c)"
    out = wrapped(4, f"{keyword} {head}") + "      import\n"
    for kind in dict.fromkeys(t for t, _ in declared):
        out += wrapped(6, f"{kind} :: {', '.join(n for t, n in declared if t == kind)}")
    return out + f"    end {keyword.split()[-1]}\n"


def generated(header):
    out = ""
    for name, values in header.enums:
        out += f"  ! {name}\n"
        out += wrapped(2, "integer(c_int), parameter :: " + ", ".join(" = ".join(v) for v in values))
    for name, members in header.structs.items():
        out += f"\n  type, bind(c) :: {name}\n"
        out += "".join(f"    {header.member(*m[:3])}\n" for m in members) + "  end type\n"
    return out + "\n  interface\n" + "".join(interface(header, f) for f in header.functions) + "  end interface\n"


before, after = (HERE / "module.f90").read_text(encoding="utf-8").split(PLACE)
header = Header((HERE.parent / "include/gsofa/gsofa.h").read_text(encoding="utf-8"))
Path(sys.argv[1]).write_text(before + generated(header) + after, encoding="utf-8")
