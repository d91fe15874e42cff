#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian's Chromium if it is missing, for the tests of the web UI in a browser. Prints the path of the program.
set -euo pipefail

if [ -x /usr/bin/chromium ]; then
	echo /usr/bin/chromium
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "chromium is missing, and there is no apt-get to install it with: install Chromium as /usr/bin/chromium" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	as_root=(sudo)
fi
{
	"${as_root[@]}" apt-get update --quiet
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium
} >&2
echo /usr/bin/chromium
