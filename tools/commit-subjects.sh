#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# commit-subjects.sh [FOLDER] fails if the subject of a commit has more than 72 characters. It looks at the commits that a clone has, so a
# shallow one is fine. Two sorts do not count: commits older than the rule, told by the date of their author, which survives a rebase; and
# merges, whose subjects git writes.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
limit=72
since=1794992700 # 2026-11-18 09:05 UTC

if [[ ! -e .git ]]; then
  echo "commit subjects are not checked: this is no clone"
  exit 0
fi
git rev-parse --git-dir >/dev/null # says what is wrong with a clone that git does not read, such as that of another user
if ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "commit subjects are not checked: there are no commits yet"
  exit 0
fi

# A character of UTF-8 is as many bytes as it likes, but only one of them is no continuation.
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
