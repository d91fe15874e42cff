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
apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet --option Acquire::Retries=1 --option Acquire::http::Timeout=30)
if [ "$(id -u)" -ne 0 ]; then
	apt=(sudo "${apt[@]}")
fi
{
	"${apt[@]}" update
	"${apt[@]}" install --yes --no-install-recommends chromium
} >&2
echo /usr/bin/chromium
