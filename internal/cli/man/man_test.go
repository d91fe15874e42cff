// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
)

// program is a small program with the command. Its texts contain everything that roff takes for its own.
func program() *cobra.Command {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	hard := &cobra.Command{
		Use: "tree (NAME... | -l LABELS)", Short: "Show what's \\below", Args: cobra.NoArgs,
		Long:    ".hidden files, and 'quoted' words\nkeep their 'beginnings', C:\\new and --flags~^ \u2592.\n\n  .one  laid out\n  'two  with spaces",
		Example: "  espalier tree -o jsonpath='{.a}' \\\n    --wait",
		Run:     func(*cobra.Command, []string) {},
	}
	hard.Flags().StringP("output", "o", "text,wide", "output `format`: \"a\", .b")
	hard.Flags().Bool("secret", false, "not shown")
	hard.Flags().Lookup("secret").Hidden = true
	group := &cobra.Command{Use: "pipeline", Short: "Show pipelines", Run: func(*cobra.Command, []string) {}}
	group.AddCommand(&cobra.Command{Use: "status", Short: "Show one", Run: func(*cobra.Command, []string) {}})
	concealed := &cobra.Command{Use: "concealed", Short: "Not shown", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root := cli.NewRoot(streams, hard, group, concealed, New(cli.NewEnvironment(streams)))
	root.Version = "1.2.3"
	return root
}

func written(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a", "man1")
	root := program()
	root.SetArgs([]string{"man", "--dir", dir})
	if code := cli.Run(t.Context(), root); code != cli.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return dir, names
}

func TestEveryVisibleCommandHasAPage(t *testing.T) {
	_, names := written(t)
	want := []string{
		"espalier-completion-bash.1", "espalier-completion-fish.1", "espalier-completion-powershell.1", "espalier-completion-zsh.1",
		"espalier-completion.1", "espalier-man.1", "espalier-pipeline-status.1", "espalier-pipeline.1", "espalier-tree.1", "espalier.1",
	}
	if difference := cmp.Diff(want, names); difference != "" {
		t.Errorf("- wanted, + written:\n%s", difference)
	}
}

const treePage = `.TH "ESPALIER\-TREE" "1" "" "Espalier 1.2.3" "Espalier"
.ad l
.nh
.SH "NAME"
espalier\-tree \- Show what\(aqs \ebelow
.SH "SYNOPSIS"
.PP
.nf
.RS 4
espalier tree (NAME... | \-l LABELS) [flags]
.RE
.fi
.SH "DESCRIPTION"
.PP
\&.hidden files, and \(aqquoted\(aq words
keep their \(aqbeginnings\(aq, C:\enew and \-\-flags\(ti\(ha \[u2592].
.PP
.nf
.RS 4
\&.one  laid out
\(aqtwo  with spaces
.RE
.fi
.SH "OPTIONS"
.TP
\fB\-o, \-\-output\fR \fIformat\fR
output format: "a", .b (default text,\:wide)
.SH "EXAMPLES"
.PP
.nf
.RS 4
espalier tree \-o jsonpath=\(aq{.a}\(aq \e
  \-\-wait
.RE
.fi
.SH "EXIT STATUS"
.TP
\fB0\fR
success
.TP
\fB1\fR
wrong usage, or another error
.TP
\fB5\fR
not found, or not permitted
.TP
\fB130\fR
Ctrl\-C
.SH "SEE ALSO"
.BR "espalier" (1)
`

func TestPagesAreEscaped(t *testing.T) {
	dir, _ := written(t)
	text, err := os.ReadFile(filepath.Join(dir, "espalier-tree.1"))
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(treePage, string(text)); difference != "" {
		t.Errorf("- wanted, + written:\n%s", difference)
	}
}

// A flag may change what the codes mean.
func TestExitCodesThatDependOnAFlag(t *testing.T) {
	dir, _ := written(t)
	text, err := os.ReadFile(filepath.Join(dir, "espalier-pipeline-status.1"))
	if want := "Ctrl\\-C\n.PP\nWith \\-\\-exit\\-code:\n.TP\n\\fB0\\fR\nthe revision has reached"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: it lacks %q:\n%s", err, want, text)
	}
}

// groff reads the pages without a warning, and prints the texts as they are. It need not be installed.
func TestGroffReadsThePages(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("groff is not installed; TestPagesAreEscaped compares the page itself")
		return
	}
	dir, names := written(t)
	for _, name := range names {
		command := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-P-cbou", filepath.Join(dir, name))
		var warnings strings.Builder
		command.Stderr = &warnings
		text, err := command.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("%s: %v: %s", name, err, warnings.String())
		}
		if name != "espalier-tree.1" {
			continue
		}
		for _, want := range []string{
			"Show what's \\below", ".hidden files, and 'quoted' words", "C:\\new", "--flags~^ \u2592.", "  .one  laid out\n", "  'two  with spaces\n",
			"-o, --output format\n", `output format: "a", .b`, "-o jsonpath='{.a}' \\\n", "espalier(1)",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("it lacks %q:\n%s", want, text)
			}
		}
	}
}

func TestTheDirectoryIsRequired(t *testing.T) {
	root := program()
	root.SetArgs([]string{"man"})
	if code := cli.Run(t.Context(), root); code != cli.ExitError {
		t.Errorf("exit code %d", code)
	}
}
