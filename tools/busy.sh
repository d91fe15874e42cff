#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# busy.sh N COMMAND... runs a command beside N endless loops, so that it gets only a share of the cores: what depends on the speed
# of a machine fails here rather than on a slower one. The loops end with the command.
set -euo pipefail

if (($# < 2)) || ! [[ $1 =~ ^[0-9]+$ ]]; then
  echo "usage: busy.sh N COMMAND..." >&2
  exit 2
fi
loops=()
trap 'if ((${#loops[@]})); then kill "${loops[@]}" 2>/dev/null; fi' EXIT
for ((i = 0; i < $1; i++)); do
  while :; do :; done &
  loops+=($!)
done
shift
"$@"
