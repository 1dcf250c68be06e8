# SPDX-License-Identifier: Apache-2.0
"""Replaces the channel classes in a copy of Netty's tests and compiles the copy.

The file of replacements has three columns: the module, a pattern of Python and its replacement. A test that still does
not compile uses something that this transport lacks. It is removed from the copy, and becomes a row of the results
with the compiler's message. A class whose fixture does not compile is removed as a whole.
"""
import argparse
import pathlib
import re
import subprocess
import sys

MEMBER = re.compile(r"^    [^\s})*/]")
TEST = re.compile(r"@(Test|ParameterizedTest|RepeatedTest|RepeatedIfExceptionsTest)\b")
# Without one of these a class would run other tests than those of its name.
NEEDED = re.compile(r"@(BeforeAll|BeforeEach|AfterAll|AfterEach|Override)\b|^    \w* ?static final (?!class)",
                    re.MULTILINE)
NAME = re.compile(r"^    (?:[\w<>\[\], ?.]+ )(\w+)\(", re.MULTILINE)
ERROR = re.compile(r"^(.+\.java):(\d+): error: (.*)$")
# A removed file can leave errors in others, one after another.
MAX_ROUNDS = 25


def read_replacements(path, module):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return [(re.compile(pattern), text) for of, pattern, text in rows if of == module]


def adapt(source, replacements):
    for pattern, text in replacements:
        source = pattern.sub(text, source)
    # Imports of replaced classes name a package that lacks them.
    source = re.sub(r"^import (?:static )?io\.netty\.[\w.]*\b(?:RdmaRaw|Judge)\w*(?:\.\w+)?;$", "", source,
                    flags=re.MULTILINE)
    return re.sub(r"^(package .*;)$", r"\1 import io.rdmaraw.channel.*; import io.rdmaraw.judge.*;", source, count=1,
                  flags=re.MULTILINE)


def member_at(lines, at):
    """First and last line of the member of the outermost class that has the given line, or None outside of members."""
    first = at
    while first >= 0 and not MEMBER.match(lines[first]):
        if re.match(r"^\S", lines[first]) and not lines[first].startswith("}"):
            return None
        first -= 1
    if first < 0:
        return None
    while MEMBER.match(lines[first - 1]) and re.match(r"^    @\w+(\(.*\))?$", lines[first - 1]):
        first -= 1
    depth, last = 0, first
    while last < len(lines):
        code = re.sub(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])'|//.*", "", lines[last])
        depth += sum(code.count(c) for c in "({") - sum(code.count(c) for c in ")}")
        if depth <= 0 and code.rstrip().endswith((";", "}")):
            return first, last
        last += 1
    return None


class Copy:
    """The copied sources and the rows of removed tests."""

    def __init__(self, run):
        self.run = run
        self.rows = {}

    def add(self, name, reason):
        self.rows.setdefault(name, reason)

    def remove_file(self, path, reason):
        source = path.read_text(encoding="utf-8")
        if path.stem.endswith("Test"):
            tests = [found.group(1) for part in TEST.split(source)[2::2] if (found := NAME.search(part))]
            for name in [name for name in self.rows if name.startswith(path.stem + ".")]:
                reason = self.rows.pop(name)
            for test in tests or ["*"]:
                self.add(f"{path.stem}.{test}", reason)
        path.unlink()

    def remove(self, path, number, reason):
        lines = path.read_text(encoding="utf-8").split("\n")
        at = number - 1
        if not lines[at].strip():
            return  # A member that an earlier error has removed.
        if lines[at].startswith("import "):
            lines[at] = ""
        else:
            found = member_at(lines, at)
            text = "\n".join(lines[found[0]:found[1] + 1]) if found else ""
            if not found or NEEDED.search(text) and not TEST.search(text):
                self.remove_file(path, reason)
                return
            name = NAME.search(text)
            if name and TEST.search(text):
                self.add(f"{path.stem}.{name.group(1)}", reason)
            for i in range(found[0], found[1] + 1):
                lines[i] = ""
        path.write_text("\n".join(lines), encoding="utf-8")


def compile_errors(javac, sources, log):
    result = subprocess.run([*javac, *map(str, sources)], capture_output=True, text=True, check=False)
    log.write(result.stderr)
    errors = []
    lines = result.stderr.split("\n")
    for i, line in enumerate(lines):
        found = ERROR.match(line)
        if found:
            symbols = (re.match(r"\s+symbol:\s+(.*)", later) for later in lines[i + 1:i + 5])
            message = found.group(3) + next((" " + symbol.group(1) for symbol in symbols if symbol), "")
            errors.append((pathlib.Path(found.group(1)), int(found.group(2)), re.sub(r"\s+", " ", message)))
    if result.returncode and not errors:
        sys.exit("the copy does not compile:\n" + result.stderr[-2000:])
    return errors


def main():
    parser = argparse.ArgumentParser()
    for option in ("--module", "--sources", "--copy", "--classes", "--replacements", "--rows", "--log"):
        parser.add_argument(option, required=True)
    parser.add_argument("--extra", nargs="*", default=[], help="sources that replace files of the same name")
    parser.add_argument("--javac", nargs=argparse.REMAINDER, required=True, help="the command, up to the end")
    options = parser.parse_args()
    replacements = read_replacements(options.replacements, options.module)
    target, origin = pathlib.Path(options.copy), pathlib.Path(options.sources)
    extra = {pathlib.Path(path).name: pathlib.Path(path) for path in options.extra}
    for path in origin.rglob("*.java"):
        copy = target / path.relative_to(origin)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.name not in extra:
            copy.write_text(adapt(path.read_text(encoding="utf-8"), replacements), encoding="utf-8")
    copies = Copy(options.module)
    javac = [*options.javac, "-d", options.classes]
    with open(options.log, "w", encoding="utf-8") as log:
        for _ in range(MAX_ROUNDS):
            sources = sorted(target.rglob("*.java"))
            errors = compile_errors(javac, [*sources, *extra.values()], log)
            if not errors:
                break
            seen = set()
            # Removed lines stay as empty ones: the numbers of the others hold.
            for path, number, message in errors:
                if path in extra.values():
                    sys.exit(f"{path}:{number}: {message}")
                if path.exists() and (path, number) not in seen:
                    seen.add((path, number))
                    copies.remove(path, number, "does not compile: " + message)
        else:
            sys.exit(f"the copy does not compile after {MAX_ROUNDS} rounds; see {options.log}")
    with open(options.rows, "a", encoding="utf-8") as file:
        for name, reason in sorted(copies.rows.items()):
            file.write(f"{copies.run}\t{name}\tfailed\t{reason}\n")


if __name__ == "__main__":
    main()
