// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/view"
)

// report is a timeline for programs.
type report struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Flow is Job or Continuous. In the latter there is no job.
	Flow string `json:"flow"`
	Job  string `json:"job,omitempty"`
	// Generation is that of the spec that the run is about.
	Generation int64            `json:"generation"`
	State      objecttree.State `json:"state"`
	Phase      string           `json:"phase"`
	span
	Objects []object `json:"objects"`
	Events  []event  `json:"events"`

	now time.Time
}

// span is a stretch of time. One without an end goes on; Seconds is how long it has taken so far.
type span struct {
	Start   *time.Time `json:"start,omitempty"`
	End     *time.Time `json:"end,omitempty"`
	Seconds float64    `json:"seconds"`
}

// object is one of the tree, in the order of the tree.
type object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// As is the name that the object above gives to this one, and Depth how many there are above it.
	As    string           `json:"as,omitempty"`
	Depth int              `json:"depth"`
	State objecttree.State `json:"state"`
	// Phase is that of the run, or a word for where the run has not got to yet.
	Phase      string `json:"phase"`
	Generation int64  `json:"generation,omitempty"`
	Type       string `json:"type,omitempty"`
	Target     string `json:"target,omitempty"`
	WaitsFor   string `json:"waitsFor,omitempty"`
	span
	Parts []part `json:"parts"`
}

// part of a run: waits, init or works.
type part struct {
	What string `json:"what"`
	span
}

// event is something that happened to an object.
type event struct {
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	By      string    `json:"by,omitempty"`
	Count   int       `json:"count"`

	bad bool
}

// names are those of the objects, in the order of the tree.
func (r report) names() []string {
	var names []string
	for _, o := range r.Objects {
		names = append(names, display.ResourceName(objecttree.Kind(o.Kind), o.Name))
	}
	return names
}

func newReport(told view.Timeline, forest *objecttree.Forest, now time.Time) report {
	top := told.Rows[0].Ref
	node := forest.Installation(top.Namespace, top.Name)
	r := report{
		Namespace: top.Namespace, Name: top.Name, Flow: "Job", Job: told.Run.ID, Generation: node.Status.ObservedGeneration,
		State: node.State(), Phase: node.Phase(), Objects: []object{}, Events: []event{}, now: now,
	}
	if node.Continuous() {
		r.Flow = "Continuous"
	}
	if told.Run.Start != nil {
		r.span = spanOf(*told.Run.Start, told.Run.End, now)
	}
	for _, row := range told.Rows {
		r.Objects = append(r.Objects, objectOf(row, forest.Find(objecttree.Kind(row.Ref.Kind), row.Ref.Namespace, row.Ref.Name), now))
	}
	for _, e := range told.Events {
		r.Events = append(r.Events, event{
			Time: e.Time, Kind: e.About.Kind, Name: e.About.Name, Reason: e.Reason, Message: e.Message, By: e.By, Count: e.Count,
			bad: e.Tone == view.Failed || e.Tone == view.GoingFailed,
		})
	}
	return r
}

func objectOf(row view.Row, node *objecttree.Node, now time.Time) object {
	o := object{
		Kind: row.Ref.Kind, Namespace: row.Ref.Namespace, Name: row.Ref.Name, As: node.As, Depth: row.Depth, State: node.State(),
		Phase: row.Status.Word, Generation: node.Status.ObservedGeneration, Type: row.Type, Target: row.Target, WaitsFor: row.WaitsFor,
		Parts: []part{},
	}
	for _, s := range row.Spans {
		o.Parts = append(o.Parts, part{What: s.What, span: spanOf(s.Start, s.End, now)})
	}
	if len(o.Parts) > 0 {
		o.span = spanOf(*o.Parts[0].Start, o.Parts[len(o.Parts)-1].End, now)
	}
	return o
}

func spanOf(start time.Time, end *time.Time, now time.Time) span {
	until := now
	if end != nil {
		until = *end
	}
	return span{Start: &start, End: end, Seconds: max(0, until.Sub(start).Round(time.Millisecond).Seconds())}
}

// took is how long a stretch of time has taken, for people.
func (s span) took() string {
	if s.Start == nil {
		return "-"
	}
	return short(s.length())
}

func (s span) length() time.Duration { return time.Duration(s.Seconds * float64(time.Second)) }

func short(d time.Duration) string { return duration.HumanDuration(d) }

// waited is how long an object has waited before it began.
func (o object) waited() time.Duration {
	var sum time.Duration
	for _, p := range o.Parts {
		if p.What == view.SpanWaits {
			sum += p.length()
		}
	}
	return sum
}

var stateStyles = map[objecttree.State]display.Style{
	objecttree.Succeeded: display.Green, objecttree.Failed: display.Red, objecttree.Running: display.Yellow,
	objecttree.Requested: display.Yellow, objecttree.Pending: display.Faint, objecttree.NotStarted: display.Faint,
}

// print prints the timeline for people.
func (r report) print(printer display.Printer, zone *time.Location) error {
	if err := printer.Lines(r.headline(zone), ""); err != nil {
		return err
	}
	if err := printer.Table(r.waterfall(printer, zone)); err != nil {
		return err
	}
	if len(r.Events) == 0 {
		return nil
	}
	if err := printer.Lines(""); err != nil {
		return err
	}
	return printer.Table(r.eventTable(zone))
}

func (r report) headline(zone *time.Location) string {
	what := fmt.Sprintf("Job %s", display.Clean(r.Job))
	if r.Job == "" {
		what = fmt.Sprintf("Generation %d", r.Generation)
	}
	what += fmt.Sprintf(" of installation %s: ", r.Name)
	began := r.Start.In(zone).Format("2006-01-02 15:04:05 MST")
	if r.End == nil {
		return what + fmt.Sprintf("running since %s, %s so far", began, r.took())
	}
	return what + fmt.Sprintf("%s, began %s, took %s", display.Clean(r.Phase), began, r.took())
}

// clock shows a time of day, with the date unless it is that of the run's beginning.
func (r report) clock(at *time.Time, zone *time.Location) string {
	if at == nil {
		return "-"
	}
	begun, shown := r.Start.In(zone), at.In(zone)
	if begun.Format(time.DateOnly) == shown.Format(time.DateOnly) {
		return shown.Format(time.TimeOnly)
	}
	return shown.Format(time.DateTime)
}

func (o object) title() string {
	return strings.Repeat("  ", o.Depth) + display.Clean(o.Kind+"/"+o.Name)
}

// waterfall is a table with the times of all objects. On a terminal with room for them, bars take the place of some columns.
func (r report) waterfall(printer display.Printer, zone *time.Location) display.Table {
	for _, columns := range [][]string{{"OBJECT", "PHASE", "STARTED", "TOOK"}, {"OBJECT", "PHASE", "TOOK"}} {
		table := r.table(columns, zone)
		if room := printer.Room(table); room >= minimalBar {
			s := r.scale(min(room, maximalBar))
			table.Header = append(table.Header, s.header())
			for i, o := range r.Objects {
				table.Rows[i] = append(table.Rows[i], display.Cell{Text: s.bar(o.Parts), Style: stateStyles[o.State]})
			}
			return table
		}
	}
	return r.table([]string{"OBJECT", "PHASE", "STARTED", "ENDED", "WAITED", "TOOK"}, zone)
}

func (r report) table(columns []string, zone *time.Location) display.Table {
	table := display.Table{Header: columns}
	for _, o := range r.Objects {
		waited, worked := "-", "-"
		if o.Start != nil {
			waited, worked = short(o.waited()), short(max(0, o.length()-o.waited()))
		}
		cells := map[string]display.Cell{
			"OBJECT":  {Text: o.title()},
			"PHASE":   {Text: display.Clean(o.Phase), Style: stateStyles[o.State]},
			"STARTED": {Text: r.clock(o.Start, zone)},
			"ENDED":   {Text: r.clock(o.End, zone)},
			"WAITED":  {Text: waited},
			"TOOK":    {Text: worked},
		}
		var row []display.Cell
		for _, column := range columns {
			row = append(row, cells[column])
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func (r report) eventTable(zone *time.Location) display.Table {
	table := display.Table{Header: []string{"TIME", "OBJECT", "EVENT", "MESSAGE"}}
	for _, e := range r.Events {
		reason := display.Clean(e.Reason)
		if e.Count > 1 {
			reason += fmt.Sprintf(" (%d times)", e.Count)
		}
		style := display.Plain
		if e.bad {
			style = display.Red
		}
		table.Rows = append(table.Rows, []display.Cell{
			{Text: r.clock(&e.Time, zone), Style: display.Faint},
			{Text: display.Clean(e.Kind + "/" + e.Name)},
			{Text: reason, Style: style},
			{Text: display.Summary(e.Message), Style: style},
		})
	}
	return table
}
