// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package preview says what the next job of an installation would change: of the objects that its blueprint makes, and of those that the
// blueprints of all installations below it make.
//
// It renders the whole tree as a job would, from the imports as they are now, and compares that with what there is. It never writes. What
// only a job can find out is not guessed: an export that some deploy item has to make first is taken as the last job has left it, and
// named; where there is none yet, what depends on it is left out, and named too.
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
	// maxInstallations bounds how many installations are rendered.
	maxInstallations = 100
	// maxChanges and maxAllLines bound what is told.
	maxChanges  = 500
	maxAllLines = 20_000
)

// Reader looks at installations, with the rights of whoever asks.
type Reader struct {
	Cluster
	// Outside is where components and blueprints are read.
	Outside offline.Outside
	// Inspectors say what deploy items of some types deploy. Of the others, only their configurations are compared.
	Inspectors map[lsv1alpha1.DeployItemType]offline.Inspector
}

// Diff is what a job would change.
type Diff struct {
	Changes []Change
	// Notes say what could not be known beforehand, what was left out, and what has no effect.
	Notes []string
}

// Unknown says why nothing can be said about the next job.
type Unknown struct{ Message string }

func (u *Unknown) Error() string { return u.Message }

func unknownf(format string, args ...any) error {
	return &Unknown{Message: fmt.Sprintf(format, args...)}
}

// NextJob compares what a job would make with what there is. Errors are those of type Unknown, and of type ReadError; none of them shows a
// secret.
func (r Reader) NextJob(ctx context.Context, inst *lsv1alpha1.Installation) (*Diff, error) {
	manifests := offline.NewManifests(inst.Namespace)
	manifests.Installations = []*lsv1alpha1.Installation{inst.DeepCopy()}
	l, err := r.look(ctx, inst)
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
	return diff, nil
}

// look begins a comparison: it finds out what must not be shown.
func (r Reader) look(ctx context.Context, inst *lsv1alpha1.Installation) (*look, error) {
	l := &look{Reader: r, root: inst, nested: map[string][]*lsv1alpha1.Installation{}}
	if l.secrets = (confidential.Reader{Live: r.Client}).OfInstallation(ctx, inst); !l.secrets.Known() {
		return nil, l.unmasked(ctx)
	}
	return l, nil
}

// render renders the root, which is among the manifests, with everything below it.
func (l *look) render(ctx context.Context, manifests *offline.Manifests) (*offline.Result, *tree, error) {
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

// unmasked says why nobody knows what to mask: by the object that cannot be read, if it is an import.
func (l *look) unmasked(ctx context.Context) error {
	unknown := unknownf("What changes is not shown, since it may contain secrets that cannot be told from other values: %s", l.secrets.Text("x"))
	scope := dataflow.Scope{Namespace: l.root.Namespace, Parent: l.root.Labels[lsv1alpha1.EncompassedByLabel]}
	l.secrets = &masking.Values{}
	_, err := l.present(ctx, offline.Wanted{Installation: l.root, Scope: scope, Needs: dataflow.NeedsOf(scope, l.root.Spec.Imports)})
	return cmp.Or(err, unknown)
}

// look is one comparison.
type look struct {
	Reader
	root *lsv1alpha1.Installation
	// secrets must not be shown: those of the installations above the root, and all that anything was rendered from.
	secrets *masking.Values
	// nested are the installations that there are, by the names of those that they are nested in.
	nested map[string][]*lsv1alpha1.Installation
}

func (l *look) whyNot(err error) error {
	var unread *ReadError
	if errors.As(err, &unread) {
		return unread
	}
	return unknownf("The next job would fail, or wait: %s.", l.secrets.Text(masking.Words(err)))
}

// present is an offline.Present.
func (l *look) present(ctx context.Context, wanted offline.Wanted) (*offline.Manifests, error) {
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

// hide has the values of Secrets and Targets not shown.
func (l *look) hide(m *offline.Manifests) {
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

// nestedIn lists the installations that are nested in another one, each list once. Those that are being deleted do not count.
func (l *look) nestedIn(ctx context.Context, namespace, name string) ([]*lsv1alpha1.Installation, error) {
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

// notesOf are what the rendering could not find out.
func (l *look) notesOf(result *offline.Result) []string {
	var notes []string
	for _, waiting := range result.Waiting {
		notes = append(notes, "Not known before the job: "+waiting+".")
	}
	if len(result.Assumed) > 0 {
		notes = append(notes, "Taken as the last job has left it, since only a job makes it anew: "+strings.Join(result.Assumed, ", ")+".")
	}
	for _, failed := range result.Failed {
		notes = append(notes, "This would fail, or wait: "+failed+".")
	}
	if result.LeftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d installations were rendered, and %d were not, with what is below them: that is more than is compared at once.",
			maxInstallations, result.LeftOut))
	}
	notes = append(notes, result.Warnings...)
	for i := range notes {
		notes[i] = l.secrets.Text(notes[i])
	}
	return notes
}

// bound leaves out what is too much.
func (d *Diff) bound() {
	lines, all := 0, len(d.Changes)
	for i, change := range d.Changes {
		if lines += len(change.Lines); i == maxChanges || lines > maxAllLines {
			d.Changes = slices.Clip(d.Changes[:i])
			d.Notes = append(d.Notes, fmt.Sprintf("These are %d of %d objects that change. The others are not shown.", i, all))
			return
		}
	}
}
