# SPDX-License-Identifier: BSD-3-Clause
"""pack.py PROGRAM MODULE.py...: packs modules into one Python program, reproducibly."""
import os
import sys
import zipfile

with open(sys.argv[1], "wb") as program:
    program.write(b"#!/usr/bin/python3\n")
    with zipfile.ZipFile(program, "w") as archive:
        for module in sorted(sys.argv[2:]):
            with open(module, "rb") as file:
                archive.writestr(zipfile.ZipInfo(os.path.basename(module)), file.read())
os.chmod(sys.argv[1], 0o755)
