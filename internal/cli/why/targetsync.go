// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// targetSyncNamed returns the name in targetsync/NAME.
func targetSyncNamed(argument string) (string, bool) {
	kind, name, found := strings.Cut(argument, "/")
	return name, found && name != "" && connect.IsTargetSync(kind)
}

// synchronisation is why a TargetSync is where it is.
type synchronisation struct {
	explain.Synchronisation
	namespace, name string
	access          *connect.Access
}

func explainTargetSync(ctx context.Context, opts options, name string) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	all, namespace, err := opts.access.ReadTargetSyncs(ctx, []string{name})
	if err != nil {
		return err
	}
	ts := &all[slices.IndexFunc(all, func(ts lsv1alpha1.TargetSync) bool { return ts.Name == name })]
	s := synchronisation{
		Synchronisation: explain.OfTargetSync(ts, connect.OtherTargetSyncs(all, ts), opts.env.Now()),
		namespace:       namespace, name: name, access: opts.access,
	}
	printer := display.To(opts.env, opts.env.Out)
	switch format {
	case display.FormatText:
		return s.print(printer)
	case display.FormatName:
		return printer.Lines(s.culprits()...)
	}
	return printer.Data(s.report(), format)
}

var syncVerbs = map[objecttree.State]string{
	objecttree.Succeeded: "is synchronised", objecttree.Failed: "is not synchronised", objecttree.Running: "is not synchronised",
}

func (s synchronisation) print(p display.Printer) error {
	title := string(explain.KindTargetSync) + "/" + s.name + " " + syncVerbs[s.State]
	first := display.Summary(s.Messages[0])
	if s.State == objecttree.Succeeded {
		return p.Lines(display.Clean(title + ": " + first))
	}
	headline := fmt.Sprintf("%s (%s): %s", title, s.Reason, first)
	if !s.Since.IsZero() {
		headline += fmt.Sprintf(" (for %s)", p.Age(s.Since))
	}
	lines := []string{display.Clean(headline)}
	for i, message := range s.Messages[1:] {
		if i == 0 {
			lines = append(lines, "", "Also:")
		}
		lines = append(lines, "  "+display.Summary(message))
	}
	lines = append(lines, "", "Next:", "  # "+display.Clean(s.Advice.Hint))
	for _, command := range s.access.Commands(s.namespace, s.Advice) {
		lines = append(lines, "  "+command)
	}
	if place := explain.ReferenceTo(s.Reason); place != "" {
		lines = append(lines, "", "See "+place)
	}
	return p.Lines(lines...)
}

// culprits names the TargetSync, if something is wrong with it.
func (s synchronisation) culprits() []string {
	if s.State == objecttree.Succeeded {
		return nil
	}
	return []string{display.ResourceName(explain.KindTargetSync, s.name)}
}

// report has the form of that about other objects. There is at most one cause, which has one link.
func (s synchronisation) report() report {
	link := reportedLink{
		Kind: explain.KindTargetSync, Namespace: s.namespace, Name: s.name, State: s.State, Reason: s.Reason,
		Message: strings.Join(s.Messages, "\n"), Since: timeOrNil(s.Since),
	}
	r := report{Causes: []reportedCause{}, Subject: &objecttree.View{
		Kind: link.Kind, Namespace: link.Namespace, Name: link.Name,
		State: link.State, Reason: link.Reason, Message: link.Message, Since: link.Since,
	}}
	if s.State != objecttree.Succeeded {
		r.Causes = append(r.Causes, reportedCause{
			Somebody: s.Advice.Somebody, Hint: s.Advice.Hint, Chain: []reportedLink{link}, Next: s.access.Commands(s.namespace, s.Advice),
			Reference: explain.ReferenceTo(s.Reason),
		})
	}
	return r
}

func timeOrNil(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at}
}
