#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Says whether this machine has the npm that the pages of the web UI are built with. Older ones leave out parts of what the bundler needs.
set -euo pipefail

if ! version=$(npm --version 2>/dev/null); then
	echo "npm is missing: install Node.js 20 or newer with npm 11 to build the pages of the web UI" >&2
	exit 1
fi
if ((${version%%.*} < 11)); then
	echo "npm $version is too old to build the pages of the web UI: install npm 11 (npm install --global npm@11)" >&2
	exit 1
fi
