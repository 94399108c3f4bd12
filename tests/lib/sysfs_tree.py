# SPDX-License-Identifier: BSD-3-Clause
"""A recorded sysfs from one file (format: lib/sysfs_tree.hpp)."""
import os


def unpack(file, into):
    with open(file, encoding="utf-8") as lines:
        for line in lines.read().splitlines():
            if not line or line.startswith("#"):
                continue
            link = " -> " in line
            path, says = line.split(" -> " if link else ": ", 1)
            path = os.path.join(into, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if link:
                os.symlink(says, path)
            else:
                with open(path, "w", encoding="utf-8") as out:
                    out.write(says + "\n")
    return into
