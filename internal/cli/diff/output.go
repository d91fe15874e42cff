// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/preview"
)

// place is where a change belongs to.
type place struct {
	// item is the path of the deploy item, and target the name of its Target.
	item, target string
	secrets      *masking.Values
}

func (p place) where() string {
	if p.target == "" {
		return "without a Target"
	}
	return "Target " + p.secrets.Text(p.target)
}

// report is what programs get to read.
type report struct {
	Changes []reportedChange `json:"changes"`
	Notes   []string         `json:"notes,omitempty"`
	// Errors say what could not be compared.
	Errors []string `json:"errors,omitempty"`
}

type reportedChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Change is created, changed or deleted.
	Change     string `json:"change"`
	Target     string `json:"target,omitempty"`
	DeployItem string `json:"deployItem"`
	// Diff has the hunks of a unified diff.
	Diff string `json:"diff"`
}

// output prints changes as they are found, or for programs all at the end.
type output struct {
	env     cli.Environment
	printer display.Printer
	format  display.Format
	report  report
	// told are the notes that were printed.
	told []string
	// counts are how many objects each sort of change has.
	counts map[string]int
	failed int
	// external collects what another program shows; nil if there is none.
	external *external
}

func newOutput(env cli.Environment, format display.Format) *output {
	o := &output{
		env: env, printer: display.To(env, env.Out), format: format, report: report{Changes: []reportedChange{}}, counts: map[string]int{},
	}
	if command := env.Getenv(externalVariable); strings.TrimSpace(command) != "" && format == display.FormatText {
		o.external = &external{command: command}
	}
	return o
}

// note says something once.
func (o *output) note(text string) {
	if text = display.Clean(text); !slices.Contains(o.told, text) {
		o.told = append(o.told, text)
		fmt.Fprintln(o.env.ErrOut, "note:", text)
	}
}

func (o *output) fail(text string) {
	o.failed++
	o.report.Errors = append(o.report.Errors, display.Clean(text))
	fmt.Fprintln(o.env.ErrOut, "error:", display.Clean(text))
}

// change prints what would become of an object, if anything.
func (o *output) change(change forecast.Change, at place) {
	subject := at.secrets.Text(change.Subject.String())
	if change.Err != nil {
		o.fail(fmt.Sprintf("%s, %s, deploy item %s: the dry run was rejected: %v",
			subject, at.where(), at.item, at.secrets.Error(change.Err)))
		return
	}
	pair := pairOf(change)
	switch {
	case pair.before == nil && pair.after == nil:
		return
	case change.Unchecked != "" && pair.before != nil:
		o.note(fmt.Sprintf("%s, %s: not compared: %s", subject, at.where(), at.secrets.Text(change.Unchecked)))
		return
	case change.Unchecked != "":
		o.note(fmt.Sprintf("%s, %s: shown as rendered, and not checked: %s", subject, at.where(), at.secrets.Text(change.Unchecked)))
	}
	what := pair.what()
	if what == "" {
		return
	}
	o.counts[what]++
	before, after := pair.shown(at.secrets)
	if slices.Equal(before, after) {
		after = append(after, "# Only names of fields change that are not shown.")
	}
	if o.format != display.FormatText {
		o.add(change, at, before, after)
		return
	}
	file := at.secrets.Text(fileName(at.target, change.Subject.GVK, change.Subject.Key))
	if o.external != nil {
		o.external.add(file, before, after)
		return
	}
	title := fmt.Sprintf("diff %s (%s, %s, deploy item %s)", subject, what, at.where(), at.item)
	o.print(title, file, preview.AllLines(before, after))
}

// add keeps a change for the end.
func (o *output) add(change forecast.Change, at place, before, after []string) {
	var diff strings.Builder
	Hunks(&diff, display.Printer{}, preview.AllLines(before, after))
	gvk, key := change.Subject.GVK, change.Subject.Key
	o.report.Changes = append(o.report.Changes, reportedChange{
		APIVersion: at.secrets.Text(gvk.GroupVersion().String()), Kind: at.secrets.Text(gvk.Kind),
		Namespace: at.secrets.Text(key.Namespace), Name: at.secrets.Text(key.Name),
		Change: pairOf(change).what(), Target: at.secrets.Text(at.target), DeployItem: at.item, Diff: diff.String(),
	})
}

// names are those of the objects that would change, in the form that kubectl takes.
func (r report) names() []string {
	var names []string
	for _, c := range r.Changes {
		names = append(names, display.ManifestName(map[string]any{
			"apiVersion": c.APIVersion, "kind": c.Kind, "metadata": map[string]any{"name": c.Name},
		}))
	}
	return names
}

// fileName names an object as kubectl diff does, with the target before it.
func fileName(target string, gvk schema.GroupVersionKind, key client.ObjectKey) string {
	parts := []string{gvk.Group, gvk.Version, gvk.Kind, key.Namespace, key.Name}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return target + "/" + strings.Join(parts, ".")
}

// print writes a unified diff.
func (o *output) print(title, file string, lines []preview.Line) {
	title, file = display.Verbatim(title), display.Verbatim(file)
	fmt.Fprintln(o.env.Out, o.printer.Paint(title, display.Bold))
	fmt.Fprintf(o.env.Out, "--- live/%s\n+++ next/%s\n", file, file)
	Hunks(o.env.Out, o.printer, lines)
}

// end sums up, and says by its error how the command ends.
func (o *output) end(ctx context.Context) error {
	if o.external != nil {
		if err := o.external.show(ctx, o.env); err != nil {
			return err
		}
	}
	o.report.Notes = o.told
	switch {
	case o.format == display.FormatName:
		if err := o.printer.Lines(o.report.names()...); err != nil {
			return err
		}
	case o.format.IsData():
		if err := o.printer.Data(o.report, o.format); err != nil {
			return err
		}
	}
	o.sumUp(o.env.ErrOut)
	changed := o.counts[created] + o.counts[updated] + o.counts[deleted]
	switch {
	case o.failed > 0:
		return &cli.CodedError{Code: ExitFailed}
	case changed > 0:
		return &cli.CodedError{Code: ExitDiffers}
	}
	return nil
}

func (o *output) sumUp(w io.Writer) {
	var parts []string
	for _, what := range []string{created, updated, deleted} {
		if count := o.counts[what]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, what))
		}
	}
	text := "A job would change nothing in the targets"
	if len(parts) > 0 {
		text = "Objects that a job would change: " + strings.Join(parts, ", ")
	}
	if o.failed > 0 {
		text = cmp.Or(strings.Join(parts, ", "), "no change") + " found"
		text = fmt.Sprintf("Not everything could be compared (errors: %d): %s", o.failed, text)
	}
	fmt.Fprintln(w, text+".")
}
