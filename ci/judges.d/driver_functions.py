# SPDX-License-Identifier: Apache-2.0
"""Writes C source with the private functions of libibverbs that some drivers need and a library does not export.

usage: driver_functions.py OUTPUT LIBRARY DRIVER...

Every function reports that the operation is not supported. Registering a driver and logging do nothing.
"""
import subprocess
import sys

# These return a pointer or nothing, so "not supported" is NULL.
NULL_PREFIXES = ("verbs_register", "verbs_open", "_verbs_init", "__verbs_log")


def symbols(library, kind):
    lines = subprocess.run(["nm", "-D", kind, library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].replace("@@", "@") for line in lines.splitlines()}


def main(output, library, *drivers):
    needed = set().union(*(symbols(driver, "--undefined-only") for driver in drivers))
    missing = sorted(name.split("@") for name in needed - symbols(library, "--defined-only") if "@IBVERBS_PRIVATE" in name)
    versions = {version for _, version in missing}
    with open(output + ".c", "w") as source:
        source.write("#include <errno.h>\n")
        for name, _ in missing:
            value = "0" if name.startswith(NULL_PREFIXES) else "EOPNOTSUPP"
            source.write(f"long {name}(void) {{ errno = EOPNOTSUPP; return {value}; }}\n")
    with open(output + ".map", "w") as script:
        for version in sorted(versions):
            names = "; ".join(name for name, of in missing if of == version)
            script.write(f"{version} {{ global: {names}; local: *; }};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
