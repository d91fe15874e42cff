// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"espalier.dev/internal/diagram"
)

// shop is the graph of the design: values between installations.
func shop() diagram.Graph {
	g := diagram.Graph{Title: "Values between the installations of shop"}
	for _, n := range [][3]string{
		{"network", "1 min 35 s", "done"},
		{"postgres", "3 min 32 s", "done"},
		{"redis", "1 min 4 s", "done"},
		{"kafka", "4 min 8 s", "done"},
		{"certificates", "55 s", "done"},
		{"catalog", "1 min 29 s", "done"},
		{"cart", "54 s", "done"},
		{"payments", "0 of 3 pods start", "failed"},
		{"mail", "import is missing", "waits"},
		{"identity", "2 min 2 s", "works"},
		{"search", "1 min 37 s", "done"},
		{"orders", "waits for payments", "not-yet"},
		{"storefront", "waits for approval", "person"},
		{"smtp-credentials", "Secret, not found", "unknown"},
	} {
		g.Nodes = append(g.Nodes, diagram.Node{ID: n[0], Title: n[0], Detail: n[1], State: n[2]})
	}
	for _, e := range []string{
		"network certificates", "postgres catalog", "redis catalog", "redis cart", "certificates identity", "postgres identity",
		"catalog search", "kafka search", "identity storefront", "search storefront", "cart storefront", "postgres payments",
		"kafka payments", "kafka mail", "smtp-credentials mail password missing", "payments orders apiUrl cut", "orders storefront ordersUrl cut",
	} {
		words := append(strings.Fields(e), "value", "there")
		g.Edges = append(g.Edges, diagram.Edge{From: words[0], To: words[1], Label: words[2], State: words[3]})
	}
	return g
}

// nested has groups in groups, and edges of all kinds between them.
func nested() diagram.Graph {
	g := diagram.Graph{Title: "Groups in groups"}
	for _, n := range []string{
		"site", "data/site", "db/data", "cache/data", "app/site", "api/app", "worker/app", "web/app", "inner/app", "x/inner", "y/inner",
		"dns", "monitor", "alone", "alone2",
	} {
		id, parent, _ := strings.Cut(n, "/")
		g.Nodes = append(g.Nodes, diagram.Node{ID: id, Parent: parent, Title: id, Detail: "about " + id, State: "done"})
	}
	for _, e := range []string{
		"db api", "cache api", "api web", "db worker", "dns web", "dns site", "web monitor", "x y", "y monitor", "data inner", "site worker",
		"x site", "monitor db", "worker worker", "app data",
	} {
		from, to, _ := strings.Cut(e, " ")
		g.Edges = append(g.Edges, diagram.Edge{From: from, To: to, Label: e})
	}
	return g
}

// random returns a graph with everything that may go wrong: cycles, groups in themselves, unknown and duplicate names.
func random(seed uint64, nodes, edges int) diagram.Graph {
	chance := rand.New(rand.NewPCG(seed, 1))
	name := func() string { return fmt.Sprintf("n%d", chance.IntN(nodes+1)) }
	var g diagram.Graph
	for i := range nodes {
		n := diagram.Node{ID: fmt.Sprintf("n%d", i), Title: strings.Repeat("long ", i%7) + "<name>", Detail: "\x00&\n", State: "done"}
		if chance.IntN(3) == 0 {
			n.Parent = name()
		}
		if chance.IntN(40) == 0 {
			n.ID = name()
		}
		if seed%2 == 1 {
			n.Side = diagram.Side(chance.IntN(3))
		}
		g.Nodes = append(g.Nodes, n)
	}
	for range edges {
		g.Edges = append(g.Edges, diagram.Edge{From: name(), To: name(), Label: "l", State: []string{"", "there", "missing", "cut"}[chance.IntN(4)]})
	}
	return g
}

func TestLayout(t *testing.T) {
	graphs := map[string]diagram.Graph{"empty": {}, "shop": shop(), "nested": nested()}
	for seed := range uint64(300) {
		graphs[fmt.Sprintf("random %d", seed)] = random(seed, int(seed%40)+1, int(seed*7%90))
	}
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			d := g.Layout()
			if again := g.Layout(); !reflect.DeepEqual(d, again) {
				t.Error("the same graph was drawn in two ways")
			}
			checkBoxes(t, d)
			checkLines(t, d)
			checkXML(t, d.SVG())
		})
	}
}

func TestNothingIsLost(t *testing.T) {
	for _, g := range []diagram.Graph{shop(), nested()} {
		d := g.Layout()
		if len(d.Boxes) != len(g.Nodes) || len(d.Lines) != len(g.Edges) {
			t.Errorf("%s: %d boxes for %d nodes, %d lines for %d edges", g.Title, len(d.Boxes), len(g.Nodes), len(d.Lines), len(g.Edges))
		}
	}
}

func TestLinesGoFromLeftToRightUnlessTheyCloseACycle(t *testing.T) {
	d := shop().Layout()
	for _, line := range d.Lines {
		points := pointsOf(t, line.Path)
		if first, last := points[0], points[len(points)-1]; first[0] >= last[0] {
			t.Errorf("the line from %s to %s goes from %v to %v", line.From, line.To, first, last)
		}
	}
}

func TestNodesWithASideStandThere(t *testing.T) {
	g := diagram.Graph{Nodes: []diagram.Node{
		{ID: "early", Side: diagram.Start}, {ID: "late", Side: diagram.Start}, {ID: "pulled"}, {ID: "a"}, {ID: "b"}, {ID: "c"},
		{ID: "short", Side: diagram.End}, {ID: "long", Side: diagram.End}, {ID: "leads on", Side: diagram.End}, {ID: "led to", Side: diagram.Start},
	}}
	for _, e := range []string{
		"early>a", "late>c", "pulled>c", "a>b", "b>c", "c>long", "a>short", "a>leads on", "leads on>c", "early>led to", "led to>b",
	} {
		from, to, _ := strings.Cut(e, ">")
		g.Edges = append(g.Edges, diagram.Edge{From: from, To: to})
	}
	at := map[string]int{}
	for _, box := range g.Layout().Boxes {
		at[box.ID] = box.X
	}
	if at["early"] != at["late"] || at["late"] >= at["pulled"] || at["short"] != at["long"] || at["long"] <= at["c"] {
		t.Errorf("nodes stand at %v", at)
	}
	if at["leads on"] >= at["c"] || at["led to"] <= at["early"] {
		t.Errorf("lines go before sides: %v", at)
	}
}

func TestTheOrderAvoidsCrossings(t *testing.T) {
	g := diagram.Graph{}
	for _, id := range []string{"a", "b", "c", "z", "y", "x"} {
		g.Nodes = append(g.Nodes, diagram.Node{ID: id})
	}
	for _, e := range []string{"ax", "by", "cz", "ay", "bz"} {
		g.Edges = append(g.Edges, diagram.Edge{From: e[:1], To: e[1:]})
	}
	height := map[string]int{}
	for _, box := range g.Layout().Boxes {
		height[box.ID] = box.Y
	}
	if up, down := height["a"] < height["b"], height["x"] < height["y"]; up != down ||
		(height["b"] < height["c"]) != (height["y"] < height["z"]) {
		t.Errorf("lines cross that need not: %v", height)
	}
}

func TestLargeGraphs(t *testing.T) {
	chain := diagram.Graph{}
	for i := range 2000 {
		chain.Nodes = append(chain.Nodes, diagram.Node{ID: strconv.Itoa(i)})
		chain.Edges = append(
			chain.Edges,
			diagram.Edge{From: strconv.Itoa(i), To: strconv.Itoa(i + 1)},
			diagram.Edge{From: strconv.Itoa(i * 7 % 2000), To: strconv.Itoa(i * 13 % 2000)},
		)
	}
	deep := diagram.Graph{}
	for i := range 2000 {
		deep.Nodes = append(deep.Nodes, diagram.Node{ID: strconv.Itoa(i), Parent: strconv.Itoa(i + 1)})
	}
	for name, g := range map[string]diagram.Graph{"random": random(1, 2000, 4000), "chain": chain, "deep": deep, "loose": random(2, 2000, 0)} {
		t.Run(name, func(t *testing.T) { checkBoxes(t, g.Layout()) })
	}
}

// checkBoxes fails unless boxes are inside the drawing and their groups, and overlap with nothing else.
func checkBoxes(t *testing.T, d diagram.Drawing) {
	t.Helper()
	page := diagram.Box{Width: d.Width, Height: d.Height}
	for i, box := range d.Boxes {
		if !inside(box, page) {
			t.Errorf("box %s lies outside of the drawing", box.ID)
		}
		for _, other := range d.Boxes[:i] {
			apart := box.X >= other.X+other.Width || other.X >= box.X+box.Width || box.Y >= other.Y+other.Height || other.Y >= box.Y+box.Height
			if !apart && !(other.Group && inside(box, other)) {
				t.Errorf("boxes %s and %s overlap: %+v %+v", box.ID, other.ID, box, other)
			}
			if box.Parent == other.ID && other.Group && !inside(box, other) {
				t.Errorf("box %s lies outside of its group %s", box.ID, other.ID)
			}
		}
	}
}

func inside(inner, outer diagram.Box) bool {
	return inner.X >= outer.X && inner.Y >= outer.Y && inner.X+inner.Width <= outer.X+outer.Width &&
		inner.Y+inner.Height <= outer.Y+outer.Height
}

// checkLines fails unless lines start and end at the sides of their boxes and cross no other box, except for groups around their ends.
func checkLines(t *testing.T, d diagram.Drawing) {
	t.Helper()
	boxes := map[string]diagram.Box{}
	for _, box := range d.Boxes {
		boxes[box.ID] = box
	}
	for _, line := range d.Lines {
		points := pointsOf(t, line.Path)
		from, to := boxes[line.From], boxes[line.To]
		if !atSide(points[0], from) || !atSide(points[len(points)-1], to) {
			t.Errorf("the line from %s to %s misses its boxes: %s, %+v, %+v", line.From, line.To, line.Path, from, to)
		}
		for _, box := range d.Boxes {
			around := box.ID == line.From || box.ID == line.To || box.Group && (inside(from, box) || inside(to, box))
			for _, at := range points {
				if !around && at[0] > box.X && at[0] < box.X+box.Width && at[1] > box.Y && at[1] < box.Y+box.Height {
					t.Errorf("the line from %s to %s crosses %s", line.From, line.To, box.ID)
					break
				}
			}
		}
	}
}

func atSide(at [2]int, box diagram.Box) bool {
	return (at[0] == box.X || at[0] == box.X+box.Width) && at[1] >= box.Y && at[1] <= box.Y+box.Height
}

var commands = regexp.MustCompile(`([MHC])([-0-9 ]+)`)

// pointsOf returns points along a path, close enough to each other not to skip a box.
func pointsOf(t *testing.T, path string) [][2]int {
	t.Helper()
	var points [][2]int
	for _, command := range commands.FindAllStringSubmatch(path, -1) {
		var n []int
		for _, word := range strings.Fields(command[2]) {
			number, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("path %s: %v", path, err)
			}
			n = append(n, number)
		}
		if command[1] == "M" {
			points = append(points, [2]int{n[0], n[1]})
			continue
		}
		x, y := points[len(points)-1][0], points[len(points)-1][1]
		if command[1] == "H" {
			n = []int{x, y, n[0], y, n[0], y}
		}
		const steps = 40
		for i := 1; i <= steps; i++ {
			at := func(a, b, c, d int) int {
				s, r := i, steps-i
				return (r*r*r*a + 3*r*r*s*b + 3*r*s*s*c + s*s*s*d) / (steps * steps * steps)
			}
			points = append(points, [2]int{at(x, n[0], n[2], n[4]), at(y, n[1], n[3], n[5])})
		}
	}
	return points
}

func checkXML(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the drawing is no XML: %v", err)
		}
	}
}
