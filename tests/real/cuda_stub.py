"""Lets the CUDA build of torch be imported where no library of NVIDIA's is installed. Run it with the engine's own interpreter.

The dynamic linker wants every library that torch's own name as needed, and every symbol that they leave undefined. Each
missing library is compiled from functions that return 100, `cudaErrorNoDevice`, and put beside libtorch, where it is looked
for first. A library that is asked for by version must define these versions, or the C library ends the process.
"""
import os
import re
import subprocess
import sysconfig
import tempfile
from collections import defaultdict
from pathlib import Path

SYSTEM = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
CUDA_SYMBOL = re.compile(r"(cu[A-Za-z_]|nv[a-z]*[A-Z_]|nccl|nvrtc|nvshmem|__cuda)")


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


class Wanted:
    """What a set of shared objects asks of libraries that are not among them."""

    def __init__(self):
        self.libraries = set()
        self.versions = defaultdict(set)  # of a library
        self.symbols = defaultdict(set)  # of a version, "" for none
        self.defined = set()

    def read(self, path):
        self.libraries.update(m[1] for line in lines("readelf", "-d", path) if (m := re.search(r"NEEDED.*\[(.+)\]", line)))
        library = None
        for line in lines("readelf", "-VW", path):
            if found := re.search(r"File: (\S+)", line):
                library = found[1]
            if library and (found := re.search(r"Name: (\S+)\s+Flags", line)):
                self.versions[library].add(found[1])
        for *_, kind, name in (line.split() for line in lines("nm", "-D", path)):
            bare, _, version = name.partition("@")
            if kind == "U":
                self.symbols[version.lstrip("@")].add(bare)
            elif kind != "w":
                self.defined.add(bare)

    def of(self, library):
        """The functions that a library has to have, by version."""
        versions = sorted(self.versions.get(library, [""]))
        cuda = lambda name: CUDA_SYMBOL.match(name) and name not in self.defined
        return {v: sorted(filter(cuda, self.symbols[v])) for v in versions}


def compile_stub(path, functions, scratch):
    source, script = scratch / "stub.c", scratch / "stub.map"
    names = sorted({name for of_version in functions.values() for name in of_version})
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in names) or "int stub_empty;\n")
    command = ["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{path.name}"]
    if "" not in functions:
        exported = {v: " ".join(f"{name};" for name in names) or "stub_empty;" for v, names in functions.items()}
        script.write_text("".join(f"{v} {{ global: {names} }};\n" for v, names in exported.items()))
        command.append(f"-Wl,--version-script={script}")
    subprocess.run([*command, "-o", path, source], check=True)


def main():
    packages = Path(sysconfig.get_paths()["purelib"])
    beside = packages / "torch/lib"
    wanted = Wanted()
    for path in [*beside.glob("*.so*"), *packages.glob("sgl_kernel/**/*.so")]:
        wanted.read(path)
    there = {name for folder in [beside, *SYSTEM] if os.path.isdir(folder) for name in os.listdir(folder)}
    missing = sorted(wanted.libraries - there)
    with tempfile.TemporaryDirectory() as scratch:
        for library in missing:
            compile_stub(beside / library, wanted.of(library), Path(scratch))
    print(f"{len(missing)} libraries of CUDA stubbed in {beside}")


if __name__ == "__main__":
    main()
