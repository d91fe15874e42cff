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
