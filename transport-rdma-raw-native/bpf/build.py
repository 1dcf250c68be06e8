#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles steer.bpf.c and writes its instructions to softverbs/steering_programs.h.

Needs clang at development time only: the result is checked in. Run it from anywhere, without arguments; with --check it
writes nothing and fails when the checked-in file differs. check.sh does what can be done without clang.
"""
import hashlib
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parent / "softverbs" / "steering_programs.h"
SOFTVERBS = HERE.parent / "softverbs"
# In the order of their names; this script is among them, as what it does to the code is part of the result.
SOURCES = [HERE / "build.py", HERE / "place.bpf.h", HERE / "steer.bpf.c", SOFTVERBS / "steering_hash.h",
           SOFTVERBS / "steering_maps.h"]
PROGRAMS = ["xdp", "place", "redirect", "tc", "filter", "copies"]
MAPS = ["sv_map_directory", "sv_map_rules", "sv_map_deep_rules", "sv_map_scratch", "sv_map_sockets", "sv_map_recent",
        "sv_map_heads", "sv_map_syns", "sv_map_known", "sv_map_opening", "sv_map_programs"]
SHT_SYMTAB, SHT_REL = 2, 9
LD_IMM64 = 0x18


def sections_of(elf):
    shoff, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * size) for i in range(count)]
    strings = elf[raw[names][4]:raw[names][4] + raw[names][5]]
    return [(string(strings, s[0]), s[1], elf[s[4]:s[4] + s[5]], s[6], s[7]) for s in raw]


def string(table, offset):
    return table[offset:table.index(b"\0", offset)].decode()


def map_uses(sections, index, symbols, names, code):
    """Instruction number -> map number, for one program."""
    uses = {}
    for _, kind, data, _, info in sections:
        if kind != SHT_REL or info != index:
            continue
        for offset, reference in struct.iter_unpack("<QQ", data):
            name = string(names, struct.unpack_from("<I", symbols, (reference >> 32) * 24)[0])
            if code[offset] != LD_IMM64 or name not in MAPS:
                sys.exit(f"unexpected relocation to '{name}': programs may refer to maps only")
            uses[offset // 8] = MAPS.index(name)
    return uses


def hash_of(body):
    """Of the sources and the body: check.sh asks for the same."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES) + body.encode()).hexdigest()


def clang_version():
    """Without what a distribution adds: clang version 14.0.6."""
    line = subprocess.run(["clang", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
    return line[line.index("clang version"):].split("-")[0].strip()


def with_head(body):
    return "\n".join(["/* SPDX-License-Identifier: Apache-2.0 */", "/*",
                      " * Made by bpf/build.py from bpf/steer.bpf.c: do not edit.", f" * Compiler: {clang_version()}",
                      f" * SHA-256 of the sources and of what follows: {hash_of(body)}", " */", body])


def render(elf):
    sections = sections_of(elf)
    symbols, link = next((s[2], s[3]) for s in sections if s[1] == SHT_SYMTAB)
    names = sections[link][2]
    lines = ["#ifndef SV_STEERING_PROGRAMS_H", "#define SV_STEERING_PROGRAMS_H", "",
             "#include <stdint.h>", "", "struct sv_map_use {", "    uint16_t instruction;", "    uint16_t map;", "};"]
    for program in PROGRAMS:
        index = next(i for i, s in enumerate(sections) if s[0] == program)
        code = sections[index][2]
        words = [f"0x{w:016x}" for w, in struct.iter_unpack("<Q", code)]
        lines += ["", f"static const uint64_t sv_program_{program}[] = {{"]
        lines += ["    " + ", ".join(words[i:i + 5]) + "," for i in range(0, len(words), 5)]
        uses = sorted(map_uses(sections, index, symbols, names, code).items())
        text = ", ".join(f"{{{i}, {m}}}" for i, m in uses)
        lines += ["};", f"static const struct sv_map_use sv_program_{program}_maps[] = {{{text}}};"]
    return "\n".join(lines + ["", "#endif", ""])


def compile_all():
    with tempfile.TemporaryDirectory() as directory:
        target = pathlib.Path(directory) / "steer.o"
        subprocess.run(["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-Wall", "-Wextra", "-Werror", "-I/usr/include/"
                        "x86_64-linux-gnu", "-c", str(HERE / "steer.bpf.c"), "-o", str(target)], check=True)
        return render(target.read_bytes())


def main():
    text = with_head(compile_all())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if OUTPUT.read_text() == text else f"{OUTPUT} is not what bpf/steer.bpf.c compiles to")
    OUTPUT.write_text(text)


if __name__ == "__main__":
    main()
