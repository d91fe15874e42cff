// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
)

func TestErrorsSayWhatWhereAndWhy(t *testing.T) {
	cause := errors.New("connection refused")
	for want, e := range map[string]gitprovider.Error{
		"open a pull request: git.example.com/a/b: it fails": {
			Operation:  "open a pull request",
			Repository: "git.example.com/a/b",
			Message:    "it fails",
		},
		"open a pull request: git.example.com/a/b: it fails: connection refused": {
			Operation:  "open a pull request",
			Repository: "git.example.com/a/b",
			Message:    "it fails",
			Cause:      cause,
		},
		"connection refused": {Cause: cause},
		"url is odd":         {Message: "url is odd"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
	err := fmt.Errorf("promote: %w", (&gitprovider.Error{Class: gitprovider.RateLimited, RetryAfter: time.Minute, Cause: cause}).Classified())
	if gitprovider.ClassOf(err) != gitprovider.RateLimited || gitprovider.RetryAfter(err) != time.Minute || !errors.Is(err, cause) {
		t.Errorf("class %s, wait %s of %v", gitprovider.ClassOf(err), gitprovider.RetryAfter(err), err)
	}
	if gitprovider.ClassOf(cause) != gitprovider.Unavailable || gitprovider.RetryAfter(cause) != 0 {
		t.Error("an error of somebody else has a class")
	}
}

// permanence of each class, as documented.
var permanence = map[gitprovider.Class]bool{
	gitprovider.Unauthenticated: true,
	gitprovider.Forbidden:       true,
	gitprovider.NotFound:        true,
	gitprovider.Refused:         true,
	gitprovider.Duplicate:       false,
	gitprovider.Misconfigured:   true,
	gitprovider.Conflict:        false,
	gitprovider.RateLimited:     false,
	gitprovider.Unavailable:     false,
	gitprovider.Untrusted:       false,
	gitprovider.Malformed:       false,
}

func TestPermanentErrorsAreTerminal(t *testing.T) {
	for class, permanent := range permanence {
		err := (&gitprovider.Error{Class: class, Message: "m"}).Classified()
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
