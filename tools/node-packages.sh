#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that "espalier up --node" needs, if one of them is missing. Services that they bring are not started.
set -euo pipefail

packages=(containerd runc containernetworking-plugins nftables iproute2 util-linux mount)
if dpkg-query --show --showformat='${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | grep -cx installed | grep -qx "${#packages[@]}"; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "these are missing, and there is no apt-get to install them with: ${packages[*]}" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	as_root=(sudo)
fi
"${as_root[@]}" apt-get update --quiet
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install --yes --quiet --no-install-recommends "${packages[@]}"
