// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// server is a stand-in for "espalier up": it says when it is ready and stops on Ctrl-C.
const server = `trap 'echo stopped > "$MARKER"; exit 0' INT
echo starting
echo is ready
while true; do sleep 0.1; done`

func run(t *testing.T, blocks ...Block) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(t.Context(), blocks, &out)
	return out.String(), err
}

func TestBlocksShareVariablesAndFolder(t *testing.T) {
	folder := t.TempDir()
	out, err := run(t,
		Block{Line: 1, Code: "cd " + folder + "\nexport GREETING='hello there'"},
		Block{Line: 2, Code: `echo "$GREETING" > greeting`},
	)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(folder, "greeting"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "hello there\n" {
		t.Errorf("got %q", got)
	}
}

func TestTheFirstFailureEndsTheRun(t *testing.T) {
	cases := map[string]string{
		"a command":          "echo before\nfalse\necho after",
		"a part of a pipe":   "false | cat\necho after",
		"a missing variable": `echo "$NOBODY_SET_THIS"` + "\necho after",
		"an unknown program": "no-such-program\necho after",
	}
	for name, code := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, Block{Line: 7, Code: code}, Block{Line: 9, Code: "echo next block"})
			if err == nil || !strings.Contains(err.Error(), "line 7") {
				t.Errorf("got error %v, want one that names line 7", err)
			}
			_, printed, _ := strings.Cut(out, "\n---\n")
			if strings.Contains(printed, "after") || strings.Contains(out, "next block") {
				t.Errorf("went on after the failure:\n%s", out)
			}
		})
	}
}

func TestBackgroundBlockServesTheOthersAndIsInterrupted(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	out, err := run(t,
		Block{Line: 1, Code: "export MARKER=" + marker},
		Block{Line: 2, Code: server, Until: "is ready"},
		Block{Line: 3, Code: `test ! -e "$MARKER" && echo meanwhile`},
	)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ready, meanwhile := strings.LastIndex(out, "is ready"), strings.LastIndex(out, "meanwhile")
	if ready < 0 || meanwhile < ready {
		t.Errorf("the next block did not wait:\n%s", out)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the block in the background was not interrupted: %v", err)
	}
}

func TestBackgroundBlockMustGetReady(t *testing.T) {
	out, err := run(t, Block{Line: 2, Code: "echo starting", Until: "is ready"}, Block{Line: 3, Code: "echo meanwhile"})
	if err == nil || !strings.Contains(err.Error(), `ended before it printed "is ready"`) {
		t.Errorf("got %v", err)
	}
	if strings.Contains(out, "meanwhile") {
		t.Errorf("went on after the failure:\n%s", out)
	}
}

func TestBackgroundBlockMustStopCleanly(t *testing.T) {
	unclean := strings.Replace(server, "exit 0", "exit 3", 1)
	_, err := run(t,
		Block{Line: 1, Code: "export MARKER=" + filepath.Join(t.TempDir(), "marker")},
		Block{Line: 2, Code: unclean, Until: "is ready"},
	)
	if err == nil || !strings.Contains(err.Error(), "stopped with an error") {
		t.Errorf("got %v, want the exit code to matter", err)
	}
}

func TestBackgroundBlockIsStoppedAfterAFailure(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	_, err := run(t,
		Block{Line: 1, Code: "export MARKER=" + marker},
		Block{Line: 2, Code: server, Until: "is ready"},
		Block{Line: 3, Code: "false"},
	)
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v, want the failure of line 3", err)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the block in the background still runs: %v", err)
	}
}

func TestPageWithoutMarksIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("# Title\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runPage(t.Context(), path); err == nil {
		t.Error("a page that runs nothing proves nothing, yet there was no error")
	}
}
