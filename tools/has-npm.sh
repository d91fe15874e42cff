#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Succeeds if this machine has the Node.js and the npm that build the pages of the web UI. The bundler does not run on older versions of
# Node.js, and older versions of npm omit parts that it needs.
set -euo pipefail

if ! version=$(npm --version 2>/dev/null); then
	echo "npm is missing: install Node.js 20.19 or newer with npm 11 to build the pages of the web UI" >&2
	exit 1
fi
node=$(node --version)
IFS=. read -r major minor _ <<<"${node#v}"
if ! ((major == 20 && minor >= 19 || major == 22 && minor >= 12 || major > 22)); then
	echo "Node.js $node cannot build the pages of the web UI: install version 20.19, 22.12 or newer" >&2
	exit 1
fi
if ((${version%%.*} < 11)); then
	echo "npm $version is too old to build the pages of the web UI: install npm 11 (npm install --global npm@11)" >&2
	exit 1
fi
