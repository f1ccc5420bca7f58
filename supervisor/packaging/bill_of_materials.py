#!/usr/bin/env python3
"""What went into the static program, from the linker's map and dpkg: an SPDX document and the text of the licenses.

    bill_of_materials.py MAP --version VERSION --output DIRECTORY [--own DIRECTORY]

An archive counts if the linker took at least one member of it, and it does not lie in our own build (--own). Needs nothing but Python and the packages' own copyright files.
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# By Debian's source package: the license of the library that is linked, as SPDX names it. Debian's copyright files cover a whole source,
# programs, tests and build scripts included; they are in THIRD-PARTY-LICENSES.txt as they stand.
LICENSES = {
    "acl": "LGPL-2.1-or-later",
    "brotli": "MIT",
    "bzip2": "bzip2-1.0.6",
    "curl": "curl",
    "expat": "MIT",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "inotify-tools": "GPL-2.0-only",
    "jansson": "MIT",
    "libarchive": "BSD-2-Clause",
    "libidn2": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libmicrohttpd": "LGPL-2.1-or-later",
    "libpsl": "MIT",
    "libunistring": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libxml2": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "lz4": "BSD-2-Clause",
    "nettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "nghttp2": "MIT",
    "nghttp3": "MIT",
    "openssl": "Apache-2.0",
    "sqlite3": "blessing",
    "xxhash": "BSD-2-Clause",
    "xz-utils": "0BSD",
    "zlib": "Zlib",
}


def linked_archives(text):
    """Every lib*.a of the system of which the map names a member that was included."""
    included = text.split("\nDiscarded input sections", 1)[0].split("\nMemory Configuration", 1)[0]
    return sorted({os.path.realpath(name) for name in re.findall(r"^(/[^\s()]+/lib[^\s()/]+\.a)\([^)]+\)", included, re.MULTILINE)})


def query(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})


def owner(archive):
    """The package that a file is of; dpkg may know it by its place before /lib became a link."""
    for path in (archive, re.sub(r"^/usr/lib", "/lib", archive)):
        found = query("dpkg-query", "-S", path)
        if found.returncode == 0:
            return found.stdout.splitlines()[0].rpartition(": ")[0]
    return None


def package_facts(package):
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    names = ("name", "version", "architecture", "source", "source_version")
    return dict(zip(names, query("dpkg-query", "-W", "-f", form, package).stdout.split("\t")))


def distribution():
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    return facts.get("ID", "debian").strip('"')


def license_of(source):
    """gcc-12 and gcc-12-cross are gcc; the C library for another processor comes of a source of its own."""
    return LICENSES.get("glibc" if source == "cross-toolchain-base" else re.sub(r"^gcc-[0-9]+(-cross)?$", "gcc", source))


def spdx_package(facts, distributor):
    license_name = license_of(facts["source"])
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", facts["name"]),
        "name": facts["source"],
        "versionInfo": facts["source_version"],
        "supplier": "Organization: " + distributor,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": "NOASSERTION",
        "comment": f"linked statically from {facts['name']} {facts['version']} ({facts['architecture']})",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/{distributor}/{facts['name']}@{facts['version'].replace('+', '%2B').replace(':', '%3A')}"
                                f"?arch={facts['architecture']}",
        }],
    }


def spdx_document(version, packages, created):
    own = {
        "SPDXID": "SPDXRef-reprieve", "name": "reprieve", "versionInfo": version, "supplier": "Organization: The maintainers of Reprieve",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
    }
    digest = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()[:32]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"reprieve-{version}",
        "documentNamespace": f"https://reprieve.invalid/spdx/reprieve-{version}-{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: bill_of_materials.py"]},
        "packages": [own, *packages],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-reprieve"},
            *({"spdxElementId": "SPDXRef-reprieve", "relationshipType": "STATIC_LINK", "relatedSpdxElement": package["SPDXID"]}
              for package in packages),
        ],
    }


def copyright_file(facts, installed, doc=Path("/usr/share/doc")):
    """The package's own; on Ubuntu 24.04 that of libssl-dev is a link to one of a package that has another name now: then that of another
    package of the same source. `installed`: (package, source) of all."""
    names = [facts["name"], *(name for name, source in installed if source == facts["source"])]
    found = [doc / name / "copyright" for name in names if (doc / name / "copyright").is_file()]
    if not found:
        sys.exit(f"bill_of_materials: no copyright file of {facts['name']}: /usr/share/doc is left out here")
    return found[0]


def installed_packages():
    return [line.split("\t") for line in query("dpkg-query", "-W", "-f", "${Package}\t${source:Package}\n").stdout.splitlines()]


def license_texts(all_facts):
    """Each package's copyright file, and the texts of Debian that these refer to."""
    parts, common, installed = [], set(), installed_packages()
    for facts in all_facts:
        text = copyright_file(facts, installed).read_text(encoding="utf-8", errors="replace")
        parts.append((f"{facts['source']} {facts['source_version']}", text))
        common.update(re.findall(r"/usr/share/common-licenses/([A-Za-z]+-?[0-9.]*[0-9])", text))
    for name in sorted(common):
        path = Path("/usr/share/common-licenses") / name
        if path.exists():
            parts.append((f"/usr/share/common-licenses/{name}", path.read_text(encoding="utf-8", errors="replace")))
    rule = "=" * 100
    head = ("Reprieve itself is under the Apache License 2.0. This program has parts of the following linked into it; what follows are\n"
            "the copyright files of the packages that these parts were taken from.\n\n")
    return head + "".join(f"{rule}\n{title}\n{rule}\n\n{text.strip()}\n\n" for title, text in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("map", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--own", type=Path)
    asked = parser.parse_args()
    archives = [archive for archive in linked_archives(asked.map.read_text(encoding="utf-8", errors="replace"))
                if not asked.own or asked.own.resolve() not in Path(archive).parents]
    owned = {archive: owner(archive) for archive in archives}
    nobodys = [archive for archive, package in owned.items() if not package]
    if nobodys or not archives:
        sys.exit(f"bill_of_materials: {', '.join(nobodys) or 'no archive'} is of no package of this system")
    all_facts = [package_facts(package) for package in sorted(set(owned.values()))]
    unknown = sorted({facts["source"] for facts in all_facts if not license_of(facts["source"])})
    if unknown:
        sys.exit(f"bill_of_materials: what is the license of {', '.join(unknown)}? Enter it in LICENSES")
    # So that two builds of one commit are the same.
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or asked.map.stat().st_mtime)
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages = [spdx_package(facts, distribution()) for facts in all_facts]
    asked.output.mkdir(parents=True, exist_ok=True)
    (asked.output / "reprieve.spdx.json").write_text(json.dumps(spdx_document(asked.version, packages, created), indent=1) + "\n", encoding="utf-8")
    (asked.output / "THIRD-PARTY-LICENSES.txt").write_text(license_texts(all_facts), encoding="utf-8")


if __name__ == "__main__":
    main()
