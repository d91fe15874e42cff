// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Dates of commits on either side of the rule about their subjects.
const (
	beforeTheRule = "2026-11-17T12:00:00Z"
	afterTheRule  = "2026-11-19T12:00:00Z"
)

// repository is a clone with a test's commits.
type repository struct {
	*testing.T
	folder string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git(afterTheRule, "init", "--quiet", "--initial-branch=main")
	return r
}

func (r repository) git(date string, args ...string) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir = r.folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+afterTheRule)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r repository) commit(date, message string) {
	r.Helper()
	r.git(date, "commit", "--quiet", "--allow-empty", "-m", message)
}

// checked returns the output of the check, and whether it succeeds.
func (r repository) checked() (said string, content bool) {
	r.Helper()
	out, err := exec.CommandContext(r.Context(), filepath.Join("..", "..", "tools", "commit-subjects.sh"), r.folder).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		r.Fatal(err)
	}
	return string(out), err == nil
}

func TestSubjectsOfCommits(t *testing.T) {
	short, long := strings.Repeat("s", 72), strings.Repeat("l", 73)
	cases := map[string]struct {
		prepare func(repository)
		want    string // in the output; empty if the check succeeds
	}{
		"as long as it may be":    {func(r repository) { r.commit(afterTheRule, short) }, ""},
		"too long":                {func(r repository) { r.commit(afterTheRule, long) }, "has 73 characters, the limit is 72: " + long},
		"too long, further back":  {func(r repository) { r.commit(afterTheRule, long); r.commit(afterTheRule, short) }, "git rebase -i"},
		"older than the rule":     {func(r repository) { r.commit(beforeTheRule, long) }, ""},
		"a long body":             {func(r repository) { r.commit(afterTheRule, short+"\n\n"+long) }, ""},
		"letters of two bytes":    {func(r repository) { r.commit(afterTheRule, strings.Repeat("é", 72)) }, ""},
		"too many of two bytes":   {func(r repository) { r.commit(afterTheRule, strings.Repeat("é", 73)) }, "has 73 characters"},
		"something like a format": {func(r repository) { r.commit(afterTheRule, "%s %d "+long) }, "%s %d lll"},
		"no commits yet":          {func(repository) {}, ""},
		"a merge": {func(r repository) {
			r.commit(afterTheRule, short)
			r.git(afterTheRule, "checkout", "--quiet", "-b", "side")
			r.commit(afterTheRule, "aside")
			r.git(afterTheRule, "checkout", "--quiet", "main")
			r.git(afterTheRule, "merge", "--quiet", "--no-ff", "-m", long, "side")
		}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			c.prepare(r)
			said, content := r.checked()
			if content != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("content: %v; it says: %s", content, said)
			}
		})
	}
}

func TestSubjectsOfCommitsInOtherPlaces(t *testing.T) {
	r := newRepository(t)
	r.commit(afterTheRule, strings.Repeat("l", 73))
	r.commit(afterTheRule, "short")
	shallow := repository{t, filepath.Join(t.TempDir(), "shallow")}
	r.git(afterTheRule, "clone", "--quiet", "--depth", "1", "file://"+r.folder, shallow.folder)
	if said, content := shallow.checked(); !content {
		t.Errorf("a shallow clone without the commit that is wrong: %s", said)
	}
	shallow.commit(afterTheRule, strings.Repeat("m", 73))
	if said, content := shallow.checked(); content || !strings.Contains(said, "mmm") {
		t.Errorf("a commit that is wrong in a shallow clone: %s", said)
	}
	if said, content := (repository{t, t.TempDir()}).checked(); !content {
		t.Errorf("an unpacked archive: %s", said)
	}
	broken := repository{t, t.TempDir()}
	if err := os.WriteFile(filepath.Join(broken.folder, ".git"), []byte("gitdir: nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, content := broken.checked(); content || !strings.Contains(said, "nowhere") {
		t.Errorf("a clone that git cannot read: %s", said)
	}
}
