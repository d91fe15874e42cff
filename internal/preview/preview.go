// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package preview forecasts what the next job of an installation would change: the objects that its blueprint makes, and those that the
// blueprints of all installations below it make.
//
// It renders the whole tree like a job, from the current imports, and compares the result with what exists. It never writes. It does not
// guess what only a job can find out: for an export that a deploy item must produce first, it uses and names the value from the last job;
// if there is none, it leaves out what depends on the export, and names that too.
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/offline"
)

const (
	// maxInstallations bounds the number of rendered installations.
	maxInstallations = 100
	// maxChanges and maxAllLines bound the size of the result.
	maxChanges  = 500
	maxAllLines = 20_000
)

// Reader reads installations, with the rights of the caller.
type Reader struct {
	Cluster
	// Outside provides components and blueprints.
	Outside offline.Outside
	// Inspectors determine what deploy items of some types deploy. For other types, only configurations are compared.
	Inspectors map[lsv1alpha1.DeployItemType]offline.Inspector
}

// Diff is what a job would change.
type Diff struct {
	Changes []Change
	// Notes list what could not be determined in advance, what was left out, and what has no effect.
	Notes []string
}

// Unknown says why the next job cannot be predicted.
type Unknown struct{ Message string }

func (u *Unknown) Error() string { return u.Message }

func unknownf(format string, args ...any) error {
	return &Unknown{Message: fmt.Sprintf(format, args...)}
}

// NextJob compares what a job would make with what exists. Errors are of type Unknown or ReadError; none of them shows a secret.
func (r Reader) NextJob(ctx context.Context, inst *lsv1alpha1.Installation) (*Diff, error) {
	manifests := offline.NewManifests(inst.Namespace)
	manifests.Installations = []*lsv1alpha1.Installation{inst.DeepCopy()}
	l, err := r.newComparison(ctx, inst)
	if err != nil {
		return nil, err
	}
	result, tree, err := l.render(ctx, manifests)
	if err != nil {
		return nil, err
	}
	diff, err := l.compare(ctx, result.Made, tree)
	if err != nil {
		return nil, err
	}
	diff.Notes = append(l.notesOf(result), diff.Notes...)
	diff.bound()
	diff.conceal(l.secrets)
	return diff, nil
}

// newComparison starts a comparison: it determines what must not be shown.
func (r Reader) newComparison(ctx context.Context, inst *lsv1alpha1.Installation) (*comparison, error) {
	l := &comparison{Reader: r, root: inst, nested: map[string][]*lsv1alpha1.Installation{}}
	if l.secrets = (confidential.Reader{Live: r.Client}).OfInstallation(ctx, inst); !l.secrets.Known() {
		return nil, l.unmasked(ctx)
	}
	return l, nil
}

// render renders the root, which is among the manifests, and everything below it.
func (l *comparison) render(ctx context.Context, manifests *offline.Manifests) (*offline.Result, *tree, error) {
	library, err := offline.OpenLibrary("", nil)
	if err != nil {
		return nil, nil, err
	}
	result, err := offline.Render(ctx, manifests, offline.Options{
		Installation: l.root.Namespace + "/" + l.root.Name, Recursive: true, KeepGoing: true, Most: maxInstallations,
		Library: library, Outside: l.Outside, Present: l.present,
	})
	if err != nil {
		return nil, nil, l.whyNot(err)
	}
	tree, err := treeOf(result)
	return result, tree, err
}

// unmasked says why it is unknown what to mask: it names the unreadable object, if it is an import.
func (l *comparison) unmasked(ctx context.Context) error {
	unknown := unknownf("The changes are not shown, because they may contain secrets that cannot be distinguished from other values: %s", l.secrets.Text("x"))
	scope := dataflow.Scope{Namespace: l.root.Namespace, Parent: l.root.Labels[lsv1alpha1.EncompassedByLabel]}
	l.secrets = &masking.Values{}
	_, err := l.present(ctx, offline.Wanted{Installation: l.root, Scope: scope, Needs: dataflow.NeedsOf(scope, l.root.Spec.Imports)})
	return cmp.Or(err, unknown)
}

// comparison is one comparison.
type comparison struct {
	Reader
	root *lsv1alpha1.Installation
	// secrets must not be shown: those of the installations above the root, and everything that anything was rendered from.
	secrets *masking.Values
	// nested are the existing installations, keyed by the installation that contains them.
	nested map[string][]*lsv1alpha1.Installation
}

func (l *comparison) whyNot(err error) error {
	var unread *ReadError
	if errors.As(err, &unread) {
		return unread
	}
	return unknownf("The next job would fail, or wait: %s.", l.secrets.Text(masking.Words(err)))
}

// present is an offline.Present.
func (l *comparison) present(ctx context.Context, wanted offline.Wanted) (*offline.Manifests, error) {
	m := offline.NewManifests(wanted.Scope.Namespace)
	if err := l.Imports(ctx, m, wanted.Scope, wanted.Needs); err != nil {
		return nil, err
	}
	if inst := wanted.Installation; inst != nil {
		nested, err := l.nestedIn(ctx, inst.Namespace, inst.Name)
		if err != nil {
			return nil, err
		}
		m.Installations = nested
		if err := l.Sources(ctx, m, inst); err != nil {
			return nil, err
		}
	}
	l.hide(m)
	return m, nil
}

// hide hides the values of Secrets and Targets.
func (l *comparison) hide(m *offline.Manifests) {
	for _, secret := range m.Secrets {
		l.secrets.AddSecret(secret.Data)
		for _, text := range secret.StringData { // in files
			l.secrets.AddText(text)
		}
	}
	for _, target := range m.Targets {
		l.secrets.AddTarget(target)
	}
}

// nestedIn lists the installations nested in another one, without reading a list twice. Those in deletion do not count.
func (l *comparison) nestedIn(ctx context.Context, namespace, name string) ([]*lsv1alpha1.Installation, error) {
	if known, listed := l.nested[name]; listed {
		return known, nil
	}
	var list lsv1alpha1.InstallationList
	if err := l.list(ctx, &list, installations, in(namespace, map[string]string{lsv1alpha1.EncompassedByLabel: name})); err != nil {
		return nil, err
	}
	nested := []*lsv1alpha1.Installation{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			nested = append(nested, &list.Items[i])
		}
	}
	l.nested[name] = nested
	return nested, nil
}

// notesOf returns what the rendering could not determine.
func (l *comparison) notesOf(result *offline.Result) []string {
	var notes []string
	for _, waiting := range result.Waiting {
		notes = append(notes, "Not known before the job: "+waiting+".")
	}
	if len(result.Assumed) > 0 {
		notes = append(notes, "Taken from the last job, because only a job can compute it: "+strings.Join(result.Assumed, ", ")+".")
	}
	for _, failed := range result.Failed {
		notes = append(notes, "This would fail, or wait: "+failed+".")
	}
	if result.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d installations were rendered, and %d were not, with what is below them: the limit of one comparison.",
			maxInstallations, result.LeftOut))
	}
	notes = append(notes, result.Warnings...)
	for i := range notes {
		notes[i] = l.secrets.Text(notes[i])
	}
	return notes
}

// conceal masks secrets in names: templates can write them there, and only a job finds out that an object cannot have such a name.
func (d *Diff) conceal(secrets *masking.Values) {
	for i := range d.Changes {
		change := &d.Changes[i]
		if title := secrets.Text(change.Title); title != change.Title {
			change.Title, change.Name = title, title // The name was made of the title.
		}
		for _, text := range []*string{&change.Kind, &change.Namespace, &change.Name, &change.Within} {
			*text = secrets.Text(*text)
		}
	}
	for i := range d.Notes {
		d.Notes[i] = secrets.Text(d.Notes[i])
	}
}

// bound truncates the result to its limits.
func (d *Diff) bound() {
	lines, all := 0, len(d.Changes)
	for i, change := range d.Changes {
		if lines += len(change.Lines); i == maxChanges || lines > maxAllLines {
			d.Changes = slices.Clip(d.Changes[:i])
			d.Notes = append(d.Notes, fmt.Sprintf("Showing %d of %d objects that change.", i, all))
			return
		}
	}
}
