#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# commit-subjects.sh [FOLDER] fails if the subject of a commit has more than 72 characters. It checks the commits in the clone, so a
# shallow one is fine. Two kinds are exempt: commits older than the rule, recognised by the author date, which survives a rebase; and
# merges, whose subjects git writes.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
limit=72
since=1794992700 # 2026-11-18 09:05 UTC

if [[ ! -e .git ]]; then
  echo "commit subjects are not checked: this is no clone"
  exit 0
fi
git rev-parse --git-dir >/dev/null # reports what is wrong with a clone that git does not read, such as that of another user
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "commit subjects are not checked: there are no commits yet"
  exit 0
fi

# A UTF-8 character has one or more bytes, of which exactly one is not a continuation byte.
git -c i18n.logOutputEncoding=UTF-8 log --no-merges --format='%at %h %s' | LC_ALL=C awk -v since="$since" -v limit="$limit" '
  $1 < since { next }
  {
    subject = $0
    sub(/^[0-9]+ [0-9a-f]+ /, "", subject)
    characters = subject
    gsub(/[\200-\277]/, "", characters)
    if (length(characters) > limit) {
      printf "commit %s: the subject has %d characters, the limit is %d: %s\n", $2, length(characters), limit, subject
      bad = 1
    }
  }
  END {
    if (bad) print "Shorten it with git commit --amend or git rebase -i, and move the details into the body of the message."
    exit bad
  }'
