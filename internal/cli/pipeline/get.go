// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/promotion"
)

type getOptions struct {
	env      cli.Environment
	access   *connect.Access
	format   *display.FormatFlag
	selector string
	names    []string
}

func newGet(env cli.Environment) *cobra.Command {
	opts := getOptions{env: env}
	cmd := &cobra.Command{
		Use:   "get [NAME...]",
		Short: "List pipelines",
		Long: `List pipelines: the current revision, how many environments it has reached, and what it
waits for. Without NAME, all pipelines of the namespace.

-o json and -o yaml print the objects themselves.

` + connect.FlagsHelp,
		Example: `  espalier pipeline get
  espalier pipeline get -A -o wide`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.names = args
			return opts.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&opts.selector, "selector", "l", "", "only pipelines with these labels, such as team=shop")
	opts.format = display.AddFormatFlag(
		cmd,
		display.FormatTable,
		display.FormatWide,
		display.FormatTree,
		display.FormatJSON,
		display.FormatYAML,
		display.FormatName,
	)
	opts.access = connect.AddFlags(cmd, env)
	opts.access.AddAllNamespaces()
	cmd.ValidArgsFunction = opts.access.CompletePipelines(false)
	return cmd
}

func (o getOptions) run(ctx context.Context) error {
	format, err := o.format.Get()
	if err != nil {
		return err
	}
	found, namespace, err := o.read(ctx)
	if err != nil {
		return err
	}
	return o.print(found, namespace, format)
}

func (o getOptions) read(ctx context.Context) (found []pipelines.Pipeline, namespace string, err error) {
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, "", fmt.Errorf("--selector: %w", err)
	}
	connection, err := o.access.Connect()
	if err != nil {
		return nil, "", err
	}
	namespace = connection.Namespace
	if o.access.AllNamespaces() {
		namespace = ""
	}
	if len(o.names) == 0 {
		var list pipelines.PipelineList
		err := connection.Client.List(ctx, &list, &client.ListOptions{Namespace: namespace, LabelSelector: selector})
		return list.Items, namespace, o.access.Explain(err, "list pipelines", namespace)
	}
	if namespace == "" {
		return nil, "", fmt.Errorf("names and --all-namespaces do not go together: name a namespace with -n")
	}
	for _, name := range o.names {
		p, err := o.access.ReadPipeline(ctx, connection.Client, namespace, name)
		if err != nil {
			return nil, "", err
		}
		if selector.Matches(labels.Set(p.Labels)) {
			found = append(found, *p)
		}
	}
	return found, namespace, nil
}

func (o getOptions) print(found []pipelines.Pipeline, namespace string, format display.Format) error {
	printer := display.To(o.env, o.env.Out)
	switch {
	case format.IsData():
		items := []client.Object{}
		for i := range found {
			found[i].SetGroupVersionKind(pipelines.SchemeGroupVersion.WithKind("Pipeline"))
			items = append(items, &found[i])
		}
		return printer.List(items, format, len(o.names) == 1)
	case format == display.FormatName:
		var names []string
		for _, p := range found {
			names = append(names, promotion.ResourceName(p.Name))
		}
		return printer.Lines(names...)
	}
	if len(found) == 0 {
		o.access.Tell("%s", nothing(namespace))
		return nil
	}
	if format == display.FormatTree {
		return printer.Outline(o.outline(found))
	}
	if format == display.FormatWide {
		printer = printer.Exact()
		return printer.Table(o.table(printer, found, true))
	}
	return printer.Table(o.table(printer, found, false))
}

// outline has the environments below each pipeline, and the targets below each environment.
func (o getOptions) outline(found []pipelines.Pipeline) display.Outline {
	var all display.Outline
	for i := range found {
		v := viewOf(&found[i], o.env.Now())
		top := display.Outline{Text: "Pipeline/" + v.Name}
		if o.access.AllNamespaces() {
			top.Text += " in namespace " + v.Namespace
		}
		top.Text += " of " + v.App
		for e, environment := range v.Environments {
			branch := display.Outline{Text: environment.Name}
			if e > 0 {
				branch.Text += ": " + arrow(environment)
			}
			for _, target := range environment.Targets {
				branch.Below = append(branch.Below, display.Outline{Text: targetText(target)})
			}
			top.Below = append(top.Below, branch)
		}
		all.Below = append(all.Below, top)
	}
	return all
}

func nothing(namespace string) string {
	if namespace == "" {
		return "There are no pipelines."
	}
	return fmt.Sprintf("There are no pipelines in namespace %s.", namespace)
}

func (o getOptions) table(printer display.Printer, found []pipelines.Pipeline, wide bool) display.Table {
	table := display.Table{Header: []string{"NAME", "REVISION", "REACHED", "WAITING", printer.AgeTitle()}}
	if o.access.AllNamespaces() {
		table.Header = append([]string{"NAMESPACE"}, table.Header...)
	}
	if wide {
		table.Header = append(table.Header, "APP", "RUN", "SINCE", "READY")
	}
	table.Header = append(table.Header, "MESSAGE")
	for i := range found {
		table.Rows = append(table.Rows, o.row(printer, &found[i], wide))
	}
	return table
}

func (o getOptions) row(printer display.Printer, p *pipelines.Pipeline, wide bool) []display.Cell {
	v := viewOf(p, o.env.Now())
	reason, message := waiting(v)
	row := []display.Cell{
		{Text: p.Name}, display.OrDash(display.Clean(v.Revision)), {Text: fmt.Sprintf("%d/%d", v.reached(), len(v.Environments))},
		reason, {Text: printer.Age(p.CreationTimestamp.Time), Style: display.Faint},
	}
	if o.access.AllNamespaces() {
		row = append([]display.Cell{{Text: p.Namespace}}, row...)
	}
	if wide {
		run, since := "-", "-"
		if v.Run != nil {
			run, since = fmt.Sprint(v.Run.Number), printer.Age(v.Run.StartTime.Time)
		}
		row = append(row, display.Cell{Text: display.Clean(v.App)}, display.Cell{Text: run}, display.Cell{
			Text:  since,
			Style: display.Faint,
		}, readyCell(p))
	}
	return append(row, display.Cell{Text: display.Clean(message)})
}

// waiting is the first of the holds, and how many there are.
func waiting(v view) (reason display.Cell, message string) {
	holds := v.allHolds()
	if len(holds) == 0 {
		return display.OrDash(""), ""
	}
	text := string(holds[0].Reason)
	if len(holds) > 1 {
		text += fmt.Sprintf(" +%d", len(holds)-1)
	}
	return display.Cell{Text: text, Style: styleOf(holds[0].Reason)}, holds[0].Message
}

func readyCell(p *pipelines.Pipeline) display.Cell {
	for _, condition := range p.Status.Conditions {
		if condition.Type == pipelines.ConditionReady {
			return display.Cell{Text: strings.TrimSpace(string(condition.Status))}
		}
	}
	return display.OrDash("")
}
