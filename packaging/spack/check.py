# SPDX-License-Identifier: BSD-3-Clause
"""check.py PACKAGE MAKEFILE: runs the Spack recipe against a stand-in of Spack and asks what it would do.

Each `when` and conflict names variants that the recipe has, the version is the Makefile's, and each NAME=VALUE that is
handed to make is a knob of the Makefile, for each single variant on and off.
"""
import pathlib
import re
import sys
import types

recipe, makefile = (pathlib.Path(p) for p in sys.argv[1:3])
calls = []


def directive(name):
    return lambda *args, **options: calls.append((name, args, options))


spack = types.ModuleType("spack.package")
for name in ("license", "version", "variant", "depends_on", "conflicts"):
    setattr(spack, name, directive(name))
spack.MakefilePackage = type("MakefilePackage", (), {})
spack.CudaPackage = type("CudaPackage", (), {})
spack.join_path = lambda *parts: "/".join(map(str, parts))
spack.make = lambda *args: calls.append(("make", args, {}))
sys.modules["spack"] = types.ModuleType("spack")
sys.modules["spack.package"] = spack
module = {}
exec(compile(recipe.read_text(), str(recipe), "exec"), module)

variants = {a[0] for n, a, _ in calls if n == "variant"} | {"cuda"}
for name, args, options in calls:
    text = options.get("when", "") + (args[0] if name == "conflicts" else "")
    unknown = set(re.findall(r"[+~](\w+)", text)) - variants
    assert not unknown, f"{name} {args}: no variant {unknown}"
text = makefile.read_text()
version = re.search(r"^VERSION := (\S+)", text, re.M).group(1)
assert [a[0] for n, a, _ in calls if n == "version"] == [version], "version"
knobs = set(re.findall(r"^(\w+) +\?=|^(\w+)\?=", text, re.M))
knobs = {a or b for a, b in knobs}
dependencies = {a[0] for n, a, _ in calls if n == "depends_on"} | {"cuda"}


class Prefix(str):
    bin = "/p/bin"


class Spec:
    def __init__(self, on):
        self.on = on

    def __getitem__(self, name):
        assert name in dependencies and (name not in variants or name in self.on), name
        return types.SimpleNamespace(prefix=Prefix("/p"))

    def satisfies(self, text):
        assert text[1:] in variants, text
        return text[1:] in self.on


for on in [set(), variants] + [{v} for v in variants]:
    package = module["Collshim"]()
    package.spec, package.prefix = Spec(on), Prefix("/p")
    del calls[:]
    package.build(package.spec, package.prefix)
    package.install(package.spec, package.prefix)
    assert [a[0] for _, a, _ in calls][1] == "install"
    for _, args, _ in calls:
        for word in args:
            assert word == "install" or word.split("=")[0] in knobs, f"{word}: no knob of the Makefile"
print(f"{len(variants)} variants, version {version}")
