// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	command "espalier.dev/internal/cli/explain"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/testkit/clitest"
)

func run(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.RunAlone(t, clitest.Call{Command: command.New, Args: args})
}

func TestWordsAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want clitest.Result
	}{
		"a reason of an error": {[]string{"ImportNotFound"}, clitest.Result{Stdout: `ImportNotFound (Jobs, data flow and deletion)
  The object of an import does not exist. It may still come.
  What to do: Create the DataObject, Target, Secret or ConfigMap, or correct the import.
  See docs/reference/errors.md#importnotfound
`}},
		"a code, in other letters": {[]string{"err_cleanup"}, clitest.Result{Stdout: `ERR_CLEANUP (Error codes)
  Old objects could not be removed. It is no longer used.
  What to do: Fix what the message names; only controllers of earlier versions set it.
  See docs/reference/errors.md#err_cleanup
`}},
		"a link and a command": {[]string{"QuotaExceeded"}, clitest.Result{Stdout: `QuotaExceeded (Jobs, data flow and deletion)
  The namespace may not have as much as the job needs.
  What to do: Delete what is no longer needed, or ask an administrator to raise the quota; see quotas (docs/quotas.md).
  See docs/reference/errors.md#quotaexceeded
`}},
		"several meanings": {[]string{"Suspended"}, clitest.Result{Stdout: `Suspended (Installations, executions and deploy items)
  The root is suspended: no new run starts until "espalier resume". For pipelines, see holds.
  See docs/reference/conditions.md#installations-executions-and-deploy-items

Suspended (Pipelines: holds)
  Waits until the pipeline is resumed.
  See docs/reference/conditions.md#pipelines-holds
`}},
		"for programs": {[]string{"PodLost", "-o", "json"}, clitest.Result{Stdout: `{
  "meanings": [
    {
      "word": "PodLost",
      "area": "Deployers",
      "meaning": "The pod was removed while it ran.",
      "advice": "Start a new job: \"espalier reconcile ROOT --wait\".",
      "reference": "docs/reference/errors.md#podlost"
    }
  ]
}
`}},
		"a mistyped word": {[]string{"ImportNotFond"}, clitest.Result{Code: cli.ExitError, Stderr: `error: "ImportNotFond" is neither an error code nor ` +
			`a reason of Espalier; third-party deployers also use words of their own
  next:  espalier explain ImportNotFound
  see:   docs/reference/errors.md
`}},
		"a part of words": {[]string{"quota"}, clitest.Result{Code: cli.ExitError, Stderr: `error: "quota" is neither an error code nor ` +
			`a reason of Espalier; third-party deployers also use words of their own
  next:  espalier explain QuotaExceeded
         espalier explain WaitingForQuota
  see:   docs/reference/errors.md
`}},
	} {
		t.Run(name, func(t *testing.T) {
			if difference := cmp.Diff(test.want, run(t, test.args...)); difference != "" {
				t.Errorf("- wanted, + printed:\n%s", difference)
			}
		})
	}
}

var notInHeadings = regexp.MustCompile(`[^\w\- ]`)

// Each word leads to a heading of the reference, and is printed without Markdown.
func TestAllWordsLeadToTheReference(t *testing.T) {
	headings := map[string]bool{}
	for _, page := range []string{"errors.md", "conditions.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
			title := notInHeadings.ReplaceAllString(strings.ToLower(heading[1]), "")
			headings[page+"#"+strings.ReplaceAll(title, " ", "-")] = true
		}
	}
	words := explain.Words()
	for _, word := range words {
		if !headings[word.Page] {
			t.Errorf("%s is explained in %s, which does not exist", word.Is, word.Page)
		}
		if got := run(t, word.Is); got.Code != cli.ExitOK || strings.ContainsAny(got.Stdout, "`[]") {
			t.Errorf("%s: exit code %d, %s", word.Is, got.Code, got.Stdout)
		}
	}
	if len(words) < 200 {
		t.Errorf("there are %d words", len(words))
	}
}

func TestCompletion(t *testing.T) {
	for begun, want := range map[string]string{
		"ImportN":   "ImportNotFound\nImportNotSatisfied\n:4\n",
		"err_clean": "ERR_CLEANUP\n:4\n",
		"Suspend":   "SuspendInvalid\nSuspended\n:4\n",
	} {
		streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
		root := cli.NewRoot(streams, command.New(cli.NewEnvironment(streams)))
		root.SetArgs([]string{cobra.ShellCompNoDescRequestCmd, "explain", begun})
		if code := cli.Run(t.Context(), root); code != cli.ExitOK || stdout.String() != want {
			t.Errorf("%s: exit code %d, offers %q, want %q", begun, code, stdout, want)
		}
	}
}
