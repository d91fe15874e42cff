#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Succeeds if this machine can run a node, which it tries; otherwise it says what is missing. It installs missing Debian packages, and does
# not start their services.
set -euo pipefail
cd "$(dirname "$0")/../cmd/espalier"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trial=$folder/trial
CGO_ENABLED=0 go build -ldflags='-s -w' -o "$trial" ./internal/nodetest/trial # It also runs where there are no libraries.

status=0
missing=$("$trial") || status=$?
if ((status != 3)); then
	exit "$status"
fi
if ! command -v apt-get >/dev/null; then
	echo "this machine cannot run a node: these are missing, and there is no apt-get to install them with: $missing" >&2
	exit 1
fi
read -ra packages <<<"$missing"
apt=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get --quiet --option Acquire::Retries=1 --option Acquire::http::Timeout=30)
if ! "${apt[@]}" update || ! "${apt[@]}" install --yes --no-install-recommends "${packages[@]}"; then
	echo "this machine cannot run a node: these are missing, and cannot be installed: $missing" >&2
	exit 1
fi
if ! missing=$("$trial"); then
	echo "this machine cannot run a node${missing:+: these are still missing: $missing}" >&2
	exit 1
fi
