// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	info := Get()
	if info.Version == "" || info.Go != runtime.Version() || info.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("got %+v", info)
	}
}

func TestTheLinkerHasTheLastWord(t *testing.T) {
	version = "v1.2.3"
	t.Cleanup(func() { version = "" })
	if got := Get().Version; got != "v1.2.3" {
		t.Errorf("version is %s", got)
	}
	if got := UserAgent("espalier"); !strings.HasPrefix(got, "espalier/v1.2.3 (") {
		t.Errorf("user agent is %s", got)
	}
}

func TestPage(t *testing.T) {
	t.Cleanup(func(before string) func() { return func() { documentation = before } }(documentation))
	for _, c := range []struct{ documentation, page, want string }{
		{"", "docs/targets.md", "docs/targets.md"},
		{"", "docs/reference/errors.md#err_timeout", "docs/reference/errors.md#err_timeout"},
		{"https://example.com/v1.2.3", "docs/targets.md", "https://example.com/v1.2.3/docs/targets.html"},
		{"https://example.com/v1.2.3/", "docs/reference/errors.md#err_timeout", "https://example.com/v1.2.3/docs/reference/errors.html#err_timeout"},
	} {
		documentation = c.documentation
		if got := Page(c.page); got != c.want {
			t.Errorf("with %q: got %q, want %q", c.documentation, got, c.want)
		}
	}
}
