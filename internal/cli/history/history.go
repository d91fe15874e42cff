// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package history shows the specs that a root installation had and brings them back: it is the commands "espalier history" and
// "espalier rollback".
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

type showing struct {
	env      cli.Environment
	access   *connect.Access
	format   *display.FormatFlag
	revision int64
	diff     bool
}

// New returns the command "espalier history".
func New(env cli.Environment) *cobra.Command {
	s := &showing{env: env}
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the last specs of an installation",
		Long: `List the last five specs of a root installation, newest first, with the job that used
each of them, its result, and the fields that differ from the revision before. Jobs
with the same spec one after the other share a revision. In the continuous flow, a
revision is a spec that an update used.

--revision prints the spec of one revision, and --diff compares it with the present
spec. -o wide shows times instead of ages.

` + connect.FlagsHelp,
		Example: `  espalier history shop
  espalier history shop --revision 2
  espalier history shop --revision 2 --diff
  espalier history shop -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd.Context(), args, cmd.Flags().Changed(revisionFlag))
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&s.revision, revisionFlag, 0, "print the spec of this revision")
	flags.BoolVar(&s.diff, "diff", false, "compare the spec of --revision with the present one")
	s.format = display.AddFormatFlag(cmd, display.FormatTable, display.FormatWide, display.FormatJSON, display.FormatYAML, display.FormatName)
	s.access = connect.AddFlags(cmd, env)
	cmd.ValidArgsFunction = connect.CompleteOne(s.access.CompleteInstallations(connect.RootInstallations))
	completeRevisions(cmd, s.access, revisionFlag)
	return cmd
}

const revisionFlag = "revision"

func (s *showing) run(ctx context.Context, names []string, one bool) error {
	format, err := s.format.Get()
	switch {
	case err != nil:
		return err
	case s.diff && !one:
		return errors.New("--diff compares one revision with the present spec: name it with --revision")
	case s.diff && format != display.FormatTable:
		return errors.New("--diff prints a diff: leave out --output")
	}
	requester, err := request.NewRequester(s.access)
	if err != nil {
		return err
	}
	roots, err := requester.Roots(ctx, names, "history")
	if err != nil {
		return err
	}
	p := past{Connection: requester.Connection, root: roots[0]}
	if format == display.FormatName && !one {
		return display.To(s.env, s.env.Out).Lines(p.resourceName())
	}
	if !one {
		return s.list(p, format)
	}
	return s.one(p, format)
}

// one prints the spec of a revision, or compares it with the present one.
func (s *showing) one(p past, format display.Format) error {
	revision, err := p.find(s.revision)
	if err != nil {
		return err
	}
	spec, err := p.spec(revision)
	if err != nil {
		return err
	}
	printer := display.To(s.env, s.env.Out)
	if format == display.FormatName {
		return printer.Lines(p.resourceName())
	}
	if s.diff {
		return compare(s.env.Out, printer, revisionSide(revision, spec), presentSide(p.root))
	}
	if !format.IsData() {
		spec, format = shown(spec), display.FormatYAML
	}
	return printer.Data(spec, format)
}

// past is a root installation with its history.
type past struct {
	connect.Connection
	root *lsv1alpha1.Installation
}

func (p past) resourceName() string {
	return display.ResourceName(objecttree.Installation, p.root.Name)
}

// find returns a revision by its number.
func (p past) find(number int64) (lsv1alpha1.SpecRevision, error) {
	var known []string
	for _, revision := range p.root.Status.History {
		if revision.Revision == number {
			return revision, nil
		}
		known = append(known, fmt.Sprint(revision.Revision))
	}
	problem := p.problem("installation %s has no revision %d", p.root.Name, number)
	problem.Code = cli.ExitNotFound
	if len(known) == 0 {
		problem.What += ": its history is empty, and starts with its next job"
		return lsv1alpha1.SpecRevision{}, problem
	}
	problem.What += ": its history has " + strings.Join(known, ", ")
	problem.Next = []string{p.Access.Suggest(p.Namespace, "history", p.root.Name)}
	return lsv1alpha1.SpecRevision{}, problem
}

// spec returns the spec of a revision as JSON.
func (p past) spec(revision lsv1alpha1.SpecRevision) (json.RawMessage, error) {
	spec, err := installation.KeptSpec(revision)
	if err == nil {
		return spec, nil
	}
	problem := p.problem("revision %d of installation %s cannot be used: %v", revision.Revision, p.root.Name, err)
	problem.Cause = err
	problem.Next = []string{p.Access.Suggest(p.Namespace, "history", p.root.Name)}
	return nil, problem
}

func (p past) problem(format string, args ...any) *cli.Problem {
	return &cli.Problem{Code: cli.ExitError, What: fmt.Sprintf(format, args...), Where: p.Access.Where(p.Namespace)}
}

// Results of revisions that no phase stands for.
const (
	// running says that the job or update is on its way.
	running = "Running"
	// unfinished says that another spec came before the end.
	unfinished = "Unfinished"
)

// Revision is what programs get to read of a revision.
type Revision struct {
	Revision         int64        `json:"revision"`
	JobID            string       `json:"jobID,omitempty"`
	Generation       int64        `json:"generation,omitempty"`
	StartTime        metav1.Time  `json:"startTime"`
	EndTime          *metav1.Time `json:"endTime,omitempty"`
	Result           string       `json:"result"`
	SucceededTime    *metav1.Time `json:"succeededTime,omitempty"`
	ComponentName    string       `json:"componentName,omitempty"`
	ComponentVersion string       `json:"componentVersion,omitempty"`
	// Present says that the installation has this spec now.
	Present bool `json:"present"`
	// SpecKept reports whether the spec can be shown and brought back.
	SpecKept bool `json:"specKept"`
	// Changes are the fields of the spec that differ from the revision before; null if that is not known.
	Changes []string `json:"changes"`
}

func (p past) revisions() []Revision {
	present := installation.SpecHash(p.root.Spec)
	history := p.root.Status.History
	revisions := make([]Revision, 0, len(history))
	for i, r := range history {
		if i == 0 && r.SpecHash == present {
			r = p.awaited(r)
		}
		shown := Revision{
			Revision: r.Revision, JobID: r.JobID, Generation: r.Generation, StartTime: r.StartTime, EndTime: r.EndTime,
			Result: p.result(i, r), SucceededTime: r.SucceededTime, ComponentName: r.ComponentName, ComponentVersion: r.ComponentVersion,
			Present: r.SpecHash == present,
		}
		after, err := installation.KeptSpec(r)
		shown.SpecKept = err == nil
		if i+1 < len(history) && err == nil {
			if before, err := installation.KeptSpec(history[i+1]); err == nil {
				shown.Changes = changedFields(before, after)
			}
		}
		revisions = append(revisions, shown)
	}
	return revisions
}

// awaited returns the newest revision as the job makes it that waits to use the present spec. Until then, the history shows the job before.
func (p past) awaited(r lsv1alpha1.SpecRevision) lsv1alpha1.SpecRevision {
	status := &p.root.Status
	if r.JobID == "" || r.JobID == status.JobID || status.IsFinished() || status.Phase != lsv1alpha1.PhaseInit {
		return r
	}
	r.JobID, r.Generation, r.EndTime, r.Result = status.JobID, p.root.Generation, nil, ""
	if times := status.TransitionTimes; times != nil && times.InitTime != nil {
		r.StartTime = *times.InitTime
	}
	return r
}

func (p past) result(i int, r lsv1alpha1.SpecRevision) string {
	status := &p.root.Status
	onItsWay := i == 0 && !status.Phase.IsFinal()
	if r.JobID != "" {
		onItsWay = r.JobID == status.JobID && !status.IsFinished() && i == 0
	}
	switch {
	case r.Result != "":
		return string(r.Result)
	case onItsWay:
		return running
	default:
		return unfinished
	}
}

func (s *showing) list(p past, format display.Format) error {
	revisions, printer := p.revisions(), display.To(s.env, s.env.Out)
	if format.IsData() {
		return printer.Data(struct {
			Revisions []Revision `json:"revisions"`
		}{revisions}, format)
	}
	if format == display.FormatWide {
		printer = printer.Exact()
	}
	if len(revisions) == 0 {
		s.access.Tell("Installation %s has no history yet. It starts with the next job.", p.root.Name)
		return nil
	}
	table := display.Table{Header: []string{"REVISION", "STARTED", "JOB", "COMPONENT", "VERSION", "RESULT", "CHANGES"}}
	for _, r := range revisions {
		job := display.ShortJob(r.JobID)
		if job == "" {
			job = fmt.Sprintf("generation %d", r.Generation)
		}
		table.Rows = append(table.Rows, []display.Cell{
			{Text: fmt.Sprint(r.Revision)}, {Text: printer.Age(r.StartTime.Time), Style: display.Faint}, {Text: display.Clean(job)},
			display.OrDash(display.Clean(r.ComponentName)), display.OrDash(display.Clean(r.ComponentVersion)),
			{Text: display.Clean(r.Result), Style: styles[r.Result]}, display.OrDash(display.Clean(summary(r.Changes))),
		})
	}
	return printer.Table(table)
}

var styles = map[string]display.Style{
	string(lsv1alpha1.PhaseSucceeded): display.Green, string(lsv1alpha1.PhaseFailed): display.Red,
	string(lsv1alpha1.PhaseAborted): display.Yellow, running: display.Cyan, unfinished: display.Faint,
}

// completeRevisions has a flag offer the revisions of the installation that is on the command line.
func completeRevisions(cmd *cobra.Command, access *connect.Access, flag string) {
	offer := func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		requester, err := request.NewRequester(access)
		if err != nil || len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := connect.CompletionContext(cmd)
		defer cancel()
		roots, err := requester.Roots(ctx, args, cmd.Name())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var choices []cobra.Completion
		for _, r := range roots[0].Status.History {
			if number := fmt.Sprint(r.Revision); strings.HasPrefix(number, toComplete) {
				choices = append(choices, cobra.CompletionWithDesc(number, display.Clean(r.ComponentVersion+" "+string(r.Result))))
			}
		}
		return choices, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	connect.CompleteFlag(cmd, flag, offer)
}
