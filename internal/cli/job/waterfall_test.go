// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/view"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// parts cuts a run at some times after noon, given in seconds. One that ends at -1 goes on.
func parts(cuts ...any) []part {
	var all []part
	for i := 0; i+2 < len(cuts); i += 2 {
		start := noon.Add(time.Duration(cuts[i].(int)) * time.Second)
		var end *time.Time
		if after := cuts[i+2].(int); after >= 0 {
			end = new(noon.Add(time.Duration(after) * time.Second))
		}
		all = append(all, part{What: cuts[i+1].(string), span: spanOf(start, end, noon.Add(100*time.Second))})
	}
	return all
}

// shopReport is the job of a small tree, 100 s after it began: the database is done, the web server works, the mail has failed at once, and
// the job has not come to the last item.
func shopReport() report {
	r := report{
		Namespace: "shops", Name: "shop", Flow: "Job", Job: "11111111-1111", State: objecttree.Running, Phase: "Progressing",
		span: spanOf(noon, nil, noon.Add(100*time.Second)), now: noon.Add(100 * time.Second),
	}
	add := func(depth int, title, phase string, state objecttree.State, parts []part) {
		kind, name, _ := strings.Cut(title, "/")
		o := object{Kind: kind, Name: name, Depth: depth, State: state, Phase: phase, Parts: parts}
		if len(parts) > 0 {
			o.span = spanOf(*parts[0].Start, parts[len(parts)-1].End, r.now)
		}
		r.Objects = append(r.Objects, o)
	}
	add(0, "Installation/shop", "Progressing", objecttree.Running, parts(0, view.SpanInit, 10, view.SpanWorks, -1))
	add(1, "Installation/shop-database", "Succeeded", objecttree.Succeeded, parts(10, view.SpanInit, 20, view.SpanWorks, 50))
	add(1, "Installation/shop-web", "Progressing", objecttree.Running, parts(10, view.SpanWaits, 50, view.SpanInit, 60, view.SpanWorks, -1))
	add(1, "DeployItem/mail", "Failed", objecttree.Failed, parts(30, view.SpanWorks, 30))
	add(1, "DeployItem/last", "Pending", objecttree.Pending, nil)
	r.Events = []event{
		{Time: noon, Kind: "Installation", Name: "shop", Reason: "Init", Count: 1},
		{
			Time: noon.Add(13 * time.Hour), Kind: "DeployItem", Name: "mail", Reason: "Failed",
			Message: "no \x1b[31mroute\nto host", Count: 3, bad: true,
		},
	}
	return r
}

func printed(t *testing.T, r report, width int, variables map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	env := cli.Environment{
		Now: func() time.Time { return r.now }, Getenv: func(name string) string { return variables[name] },
		Size: func(io.Writer) (int, int, bool) { return width, 24, width > 0 },
	}
	if err := r.print(display.To(env, &out), time.UTC); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const headline = "Job 11111111-1111 of installation shop: running since 2026-03-01 12:00:00 UTC, 100s so far\n\n"

func TestTimelines(t *testing.T) {
	const events = `
TIME                  OBJECT              EVENT              MESSAGE
12:00:00              Installation/shop   Init
2026-03-02 01:00:00   DeployItem/mail     Failed (3 times)   no [31mroute …
`
	for name, test := range map[string]struct {
		width int
		want  string
	}{
		"without a terminal": {0, `OBJECT                         PHASE         STARTED    ENDED      WAITED   TOOK
Installation/shop              Progressing   12:00:00   -          0s       100s
  Installation/shop-database   Succeeded     12:00:10   12:00:50   0s       40s
  Installation/shop-web        Progressing   12:00:10   -          40s      50s
  DeployItem/mail              Failed        12:00:30   12:00:30   0s       0s
  DeployItem/last              Pending       -          -          -        -
`},
		"on a terminal": {105, `OBJECT                         PHASE         STARTED    TOOK   0s          30s          60s         90s
Installation/shop              Progressing   12:00:00   100s   ░░░░██████████████████████████████████████
  Installation/shop-database   Succeeded     12:00:10   40s        ░░░░█████████████
  Installation/shop-web        Progressing   12:00:10   50s        ·················░░░░█████████████████
  DeployItem/mail              Failed        12:00:30   0s                 █
  DeployItem/last              Pending       -          -
`},
		"on a narrow one": {76, `OBJECT                         PHASE         TOOK   0s            60s
Installation/shop              Progressing   100s   ░░██████████████████████
  Installation/shop-database   Succeeded     40s      ░░████████
  Installation/shop-web        Progressing   50s      ··········░░██████████
  DeployItem/mail              Failed        0s            █
  DeployItem/last              Pending       -
`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(headline+test.want+events, printed(t, shopReport(), test.width, map[string]string{"NO_COLOR": "1"})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if text := printed(t, shopReport(), 105, nil); !strings.Contains(text, "\x1b[31m            █\x1b[0m") {
		t.Errorf("the bar of what has failed is not red:\n%s", text)
	}
}

// The last run of a continuous installation may be long after that of what is below, or end before.
func TestTimelinesOfGenerations(t *testing.T) {
	r := shopReport()
	r.Job, r.Flow, r.Generation, r.Phase = "", "Continuous", 7, "Succeeded"
	r.span = spanOf(noon.Add(200*time.Second), new(noon.Add(210*time.Second)), r.now)
	r.Events = nil
	text := printed(t, r, 105, map[string]string{"NO_COLOR": "1"})
	if !strings.HasPrefix(text, "Generation 7 of installation shop: Succeeded, began 2026-03-01 12:03:20 UTC, took 10s\n") {
		t.Error(text)
	}
	if line := strings.Split(text, "\n")[4]; !strings.HasSuffix(line, "40s") {
		t.Errorf("what was over before the run is drawn: %q", line)
	}
}

func TestAxes(t *testing.T) {
	for length, want := range map[time.Duration]string{
		0:                    "0s",
		time.Second:          "0s",
		90 * time.Second:     "0s           30s          60s",
		12 * time.Hour:       "0s        3h        6h        9h",
		400 * 24 * time.Hour: "0s         112d       224d       336d",
	} {
		s := scale{start: noon, length: max(length, time.Second), width: 40}
		if diff := cmp.Diff(want, s.header()); diff != "" {
			t.Errorf("%s: %s", length, diff)
		}
	}
}
