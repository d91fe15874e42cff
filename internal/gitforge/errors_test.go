// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitforge_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitforge"
)

func TestErrorsSayWhatWhereAndWhy(t *testing.T) {
	cause := errors.New("connection refused")
	for want, e := range map[string]gitforge.Error{
		"open a pull request: git.example.com/a/b: it fails":                     {Operation: "open a pull request", Repository: "git.example.com/a/b", Message: "it fails"},
		"open a pull request: git.example.com/a/b: it fails: connection refused": {Operation: "open a pull request", Repository: "git.example.com/a/b", Message: "it fails", Cause: cause},
		"connection refused": {Cause: cause},
		"url is odd":         {Message: "url is odd"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
	err := fmt.Errorf("promote: %w", (&gitforge.Error{Class: gitforge.RateLimited, RetryAfter: time.Minute, Cause: cause}).Classified())
	if gitforge.ClassOf(err) != gitforge.RateLimited || gitforge.RetryAfter(err) != time.Minute || !errors.Is(err, cause) {
		t.Errorf("class %s, wait %s of %v", gitforge.ClassOf(err), gitforge.RetryAfter(err), err)
	}
	if gitforge.ClassOf(cause) != gitforge.Unavailable || gitforge.RetryAfter(cause) != 0 {
		t.Error("an error of somebody else has a class")
	}
}

// permanence of each class, as the documentation tells it.
var permanence = map[gitforge.Class]bool{
	gitforge.Unauthenticated: true, gitforge.Forbidden: true, gitforge.NotFound: true, gitforge.Refused: true, gitforge.Duplicate: false,
	gitforge.Misconfigured: true, gitforge.Conflict: false, gitforge.RateLimited: false, gitforge.Unavailable: false,
	gitforge.Untrusted: false, gitforge.Malformed: false,
}

func TestPermanentErrorsAreTerminal(t *testing.T) {
	for class, permanent := range permanence {
		err := (&gitforge.Error{Class: class, Message: "m"}).Classified()
		if class.Permanent() != permanent || (failure.KindOf(err) == failure.Terminal) != permanent {
			t.Errorf("%s: permanent %v, kind %s", class, class.Permanent(), failure.KindOf(err))
		}
	}
}

func TestTheDocumentationExplainsEveryClass(t *testing.T) {
	page, err := os.ReadFile("../../docs/git-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	for class, permanent := range permanence {
		row := fmt.Sprintf("| `%s` | %s | ", class, map[bool]string{true: "yes", false: "no"}[permanent])
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/git-servers.md has no row that begins with %s", row)
		}
	}
}
