#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# DPDK's source INPUT with FROM renamed to TO, as a user would port a program to our API.
#   renamed.sh FROM TO INPUT OUTPUT
set -eu
upper() { printf %s "$1" | tr '[:lower:]' '[:upper:]'; }
sed "s/$1/$2/g; s/$(upper "$1")/$(upper "$2")/g; s/$2_crc/$1_crc/g" "$3" >"$4"
