// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package get

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// targetSyncs lists TargetSyncs instead of installations.
func targetSyncs(ctx context.Context, opts options) error {
	format, err := opts.format.Get()
	if err != nil {
		return err
	}
	if format == display.FormatTree || opts.nested {
		return errors.New("TargetSyncs are in no tree: leave out --nested and -o tree")
	}
	selector, err := opts.selector()
	if err != nil {
		return err
	}
	all, namespace, err := opts.access.ReadTargetSyncs(ctx, opts.names)
	if err != nil {
		return err
	}
	var found []lsv1alpha1.TargetSync
	for _, ts := range all {
		if selector.Matches(labels.Set(ts.Labels)) && (len(opts.names) == 0 || slices.Contains(opts.names, ts.Name)) {
			found = append(found, ts)
		}
	}
	return opts.printTargetSyncs(found, all, namespace, format)
}

func (o options) printTargetSyncs(found, all []lsv1alpha1.TargetSync, namespace string, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		items := []client.Object{}
		for i := range found {
			found[i].SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind(string(explain.KindTargetSync)))
			items = append(items, &found[i])
		}
		return printer.List(items, format, len(o.names) == 1)
	case format == display.FormatName:
		var names []string
		for i := range found {
			names = append(names, display.ResourceName(explain.KindTargetSync, found[i].Name))
		}
		return printer.Lines(names...)
	}
	if len(found) == 0 {
		o.access.Tell("%s", noTargetSyncs(namespace))
		return nil
	}
	if format == display.FormatWide {
		printer = printer.Exact()
	}
	return printer.Table(o.targetSyncTable(printer, found, all, format == display.FormatWide))
}

func noTargetSyncs(namespace string) string {
	if namespace == "" {
		return "There are no TargetSyncs."
	}
	return fmt.Sprintf("There are no TargetSyncs in namespace %s.", namespace)
}

func (o options) targetSyncTable(printer display.Printer, found, all []lsv1alpha1.TargetSync, wide bool) display.Table {
	table := display.Table{Header: []string{"NAME", "READY", "SOURCE", "UPDATED", printer.AgeTitle()}}
	if o.access.AllNamespaces() {
		table.Header = append([]string{"NAMESPACE"}, table.Header...)
	}
	if wide {
		table.Header = append(table.Header, "ROTATED", "REASON")
	}
	table.Header = append(table.Header, "MESSAGE")
	for i := range found {
		table.Rows = append(table.Rows, o.targetSyncRow(printer, &found[i], connect.OtherTargetSyncs(all, &found[i]), wide))
	}
	return table
}

func (o options) targetSyncRow(printer display.Printer, ts *lsv1alpha1.TargetSync, others []string, wide bool) []display.Cell {
	how := explain.OfTargetSync(ts, others, o.env.Now())
	row := []display.Cell{
		{Text: ts.Name}, syncReady[how.State], {Text: display.Clean(ts.Spec.SourceNamespace)},
		age(printer, ts.Status.LastUpdateTime), age(printer, &ts.CreationTimestamp),
	}
	if o.access.AllNamespaces() {
		row = append([]display.Cell{{Text: ts.Namespace}}, row...)
	}
	if wide {
		row = append(row, age(printer, ts.Status.LastTokenRotationTime), display.OrDash(how.Reason))
	}
	message := display.Summary(how.Messages[0])
	if more := len(how.Messages) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return append(row, display.Cell{Text: message})
}

var syncReady = map[objecttree.State]display.Cell{
	objecttree.Succeeded: {Text: "True", Style: display.Green},
	objecttree.Failed:    {Text: "False", Style: display.Red},
	objecttree.Running:   {Text: "Unknown", Style: display.Faint},
}
