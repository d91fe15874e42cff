// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func forestOf(objects ...client.Object) *objecttree.Forest {
	all := objecttree.Objects{}
	for _, object := range objects {
		all.Put(object)
	}
	return all.Forest()
}

func shopAndBlog() *objecttree.Forest {
	return forestOf(slices.Concat(clitest.ShopObjects("shops"), clitest.BlogObjects("shops"))...)
}

func printerWith(variables map[string]string) display.Printer {
	return display.To(cli.Environment{
		Now:    clitest.Now,
		Size:   func(io.Writer) (int, int, bool) { return 80, 24, true },
		Getenv: func(name string) string { return variables[name] },
	}, nil)
}

// started is the state of a command that has just begun, without colours. Without a name, it lists installations.
func started(forest *objecttree.Forest, name string) state {
	s := state{
		printer: printerWith(map[string]string{"NO_COLOR": "1"}), width: 80, height: 24, now: clitest.Now(), namespace: "shops", forest: forest,
	}
	if name != "" {
		s.opened = installation(name)
	}
	return settle(s)
}

func installation(name string) ref { return ref{objecttree.Installation, "shops", name} }

func deployItem(name string) ref { return ref{objecttree.DeployItem, "shops", name} }

// play gives messages to a state, strings as keys. It returns the effects of the last.
func play(s state, messages ...any) (state, []effect) {
	var effects []effect
	for _, m := range messages {
		if key, ok := m.(string); ok {
			m = pressed(key)
		}
		s, effects = update(s, m)
	}
	return s, effects
}

// evil tries everything that steers a terminal.
const evil = "a\x1b[31mb\x1b]0;c\x07d\r\n\te\u009b2Jf\u202eg"

func longNames() *objecttree.Forest {
	long := strings.Repeat("a-very-long-name-", 4)
	root := testkit.Installation("shops", long+"root").Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for what is below"))
	execution := clitest.ExecutionOf(root, "item")
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	item := clitest.ItemOf(execution, "item")
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("Broken", evil))
	return forestOf(root, execution, item)
}

// TestScreens compares what the screen shows after messages.
func TestScreens(t *testing.T) {
	long := strings.Repeat("a-very-long-name-", 4) + "root"
	answer := plain{"DeployItem/shop-web-nginx is not done (for 20h): 0 of 2 pods are available, which is a reason that needs more than one line", "", "Next:",
		"  # look at the pods", "  espalier logs shop"}
	lines := make(plain, 30)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i+1)
	}
	events := eventList{
		{Time: clitest.Ago(2 * time.Minute), Reason: "Progressing", Message: "waiting for Deployment web/nginx in target cluster: " + evil, Count: 3},
		{Time: clitest.Ago(20 * time.Minute), Reason: "Init", Message: "the job has started", Count: 1},
	}
	reading := func(kind paneKind, text content) looked {
		return looked{look: look{kind, deployItem("shop-web-nginx")}, text: text}
	}
	toNginx := []any{"down", "down", "down"}
	for name, test := range map[string]struct {
		state    state
		messages []any
	}{
		"list":            {started(shopAndBlog(), ""), nil},
		"list-unfinished": {started(forestOf(finished("done")...), ""), []any{"f"}},
		"list-empty":      {started(forestOf(), ""), []any{"enter", "w", "r", "left", "down"}},
		"list-small":      {started(shopAndBlog(), ""), []any{resized{44, 4}, "down"}},
		"opened":          {started(shopAndBlog(), ""), []any{"enter", resized{80, 12}}},
		"tree":            {started(shopAndBlog(), "shop"), nil},
		"nested":          {started(shopAndBlog(), "shop-web"), []any{resized{80, 8}, "left", "left"}},
		"closed":          {started(shopAndBlog(), "shop"), []any{"down", "left", resized{80, 12}}},
		"unfinished":      {started(shopAndBlog(), "shop"), []any{"f", resized{80, 12}}},
		"scrolled":        {started(shopAndBlog(), "shop"), []any{resized{80, 6}, "end", "k"}},
		"narrow":          {started(shopAndBlog(), "shop"), []any{resized{40, 12}}},
		"tiny":            {started(shopAndBlog(), "shop"), []any{resized{20, 3}, "j"}},
		"long-names":      {started(longNames(), long), []any{resized{80, 8}}},
		"reading":         {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{"w"})},
		"why":             {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{"w", reading(paneWhy, answer)})},
		"why-small":       {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{resized{40, 6}, "w", reading(paneWhy, answer)})},
		"why-long":        {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{"w", reading(paneWhy, lines), "pgdown"})},
		"events":          {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{"e", reading(paneEvents, events)})},
		"no-events":       {started(shopAndBlog(), "shop"), slices.Concat(toNginx, []any{"e", reading(paneEvents, eventList{})})},
		"help":            {started(shopAndBlog(), "shop"), []any{"?"}},
		"question":        {started(shopAndBlog(), "shop"), []any{"down", "i"}},
		"lost":            {started(shopAndBlog(), "shop"), []any{connection{problem: "dial tcp 127.0.0.1:6443: " + evil}}},
		"denied": {started(shopAndBlog(), "shop"), []any{connection{
			problem: `installations.landscaper.gardener.cloud is forbidden: User "jo" cannot list resource "installations"`, denied: true,
		}}},
		"flow-question":    {started(forestOf(flowing("flow")...), "flow"), []any{resized{100, 6}, "i"}},
		"flow-reconcile":   {started(forestOf(flowing("flow")...), "flow"), []any{resized{100, 6}, "r"}},
		"refused":          {started(shopAndBlog(), "shop"), []any{"r", "y", noted("a warning"), asked{err: errors.New("no:" + evil + "\n  next:  do it")}}},
		"granted":          {started(shopAndBlog(), "shop"), []any{"r", "y", noted("a warning"), asked{said: "is suspended by jo: " + evil}}},
		"deleted":          {started(shopAndBlog(), "shop"), []any{grown{forestOf(clitest.BlogObjects("shops")...)}, "r", "w", "left"}},
		"deleted-of-list":  {started(shopAndBlog(), ""), []any{"down", "enter", grown{forestOf(clitest.BlogObjects("shops")...)}}},
		"back-in-the-list": {started(shopAndBlog(), ""), []any{"down", "enter", "left", "left"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := play(test.state, test.messages...)
			testkit.Golden(t, name, view(s)+"\n")
		})
	}
	everywhere := started(shopAndBlog(), "")
	everywhere.namespace = ""
	testkit.Golden(t, "list-all-namespaces", view(everywhere)+"\n")
}

// flowing are the objects of a tree in the continuous flow.
func flowing(name string) []client.Object {
	root := testkit.Installation("shops", name).Continuous().Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, clitest.Of(""))
	return []client.Object{root}
}

// finished are the objects of a tree that has succeeded.
func finished(name string) []client.Object {
	root := testkit.Installation("shops", name).Build()
	root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	return []client.Object{root}
}

// Whatever the size of the screen and whatever happens, the text fits the screen and does not steer the terminal.
func TestEveryScreenFits(t *testing.T) {
	text := slices.Repeat(plain{strings.Repeat("word ", 50), strings.Repeat("x", 300), "", "  " + strings.Repeat("indented ", 30)}, 2)
	var messages []any
	for _, key := range []string{
		"down", "w", "pgdown", "e", "end", "?", "down", "?", "f", "left", "left", "right", "r", "n", "i", "y", "home", "q", "esc", "backspace", "esc", "enter",
	} {
		messages = append(messages, pressed(key))
	}
	messages = append(messages, connection{problem: evil}, connection{problem: evil, denied: true}, grown{longNames()}, connection{}, noted("a note"), asked{err: errors.New(evil)}, ticked(clitest.Now()))
	for _, name := range []string{"", "shop"} {
		for _, width := range []int{1, 4, 8, 30, 80} {
			for _, height := range []int{1, 2, 3, 4, 5, 6, 8, 15} {
				s, _ := play(started(shopAndBlog(), name), resized{width, height})
				for _, m := range messages {
					var effects []effect
					s, effects = play(s, m)
					checkFits(t, s, m)
					for _, e := range effects {
						if l, ok := e.(look); ok {
							s, _ = play(s, looked{look: l, text: text})
							checkFits(t, s, l)
						}
					}
				}
			}
		}
	}
}

func checkFits(t *testing.T, s state, after any) {
	t.Helper()
	lines := strings.Split(view(s), "\n")
	if len(lines) != s.height {
		t.Fatalf("%dx%d after %v: %d lines:\n%s", s.width, s.height, after, len(lines), view(s))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > s.width || strings.ContainsFunc(line, unicode.IsControl) {
			t.Fatalf("%dx%d after %v: line %q", s.width, s.height, after, line)
		}
	}
}

// There are colours where they are wanted, and the words are the same without them.
func TestColours(t *testing.T) {
	bare := started(shopAndBlog(), "shop")
	coloured := bare
	coloured.printer = printerWith(nil)
	painted := view(coloured)
	for _, want := range []string{"\x1b[7m>  Installation/shop ", "\x1b[33mProgressing\x1b[0m", "\x1b[32mSucceeded\x1b[0m"} {
		if !strings.Contains(painted, want) {
			t.Errorf("lacks %q:\n%s", want, painted)
		}
	}
	for _, style := range []display.Style{display.Bold, display.Faint, display.Green, display.Yellow, display.Red, display.Reverse, "0"} {
		painted = strings.ReplaceAll(painted, "\x1b["+string(style)+"m", "")
	}
	if painted != view(bare) {
		t.Errorf("without colours it would be\n%s\nbut is\n%s", painted, view(bare))
	}
}

// TestEffects says what keys do outside the screen.
func TestEffects(t *testing.T) {
	shop := started(shopAndBlog(), "shop")
	reconcile, interrupt := ask{"reconcile", installation("shop")}, ask{"interrupt", installation("shop")}
	whyShop := looked{look: look{paneWhy, installation("shop")}, text: plain{}}
	eventsOfShop := looked{look: look{paneEvents, installation("shop")}, text: eventList{}}
	later := func(seconds int) ticked { return ticked(clitest.Now().Add(time.Duration(seconds) * time.Second)) }
	for name, test := range map[string]struct {
		state    state
		messages []any
		want     []effect
	}{
		"q":                               {shop, []any{"q"}, []effect{quit{}}},
		"ctrl-c":                          {shop, []any{"ctrl+c"}, []effect{quit{}}},
		"esc":                             {shop, []any{"esc"}, []effect{quit{}}},
		"esc closes the text first":       {shop, []any{"w", "esc"}, nil},
		"and then quits":                  {shop, []any{"w", "esc", "esc"}, []effect{quit{}}},
		"suspended":                       {shop, []any{"ctrl+z"}, []effect{suspend{}}},
		"why":                             {shop, []any{"down", "w"}, []effect{look{paneWhy, installation("shop-web")}}},
		"why of another":                  {shop, []any{"w", "down", "w"}, []effect{look{paneWhy, installation("shop-web")}}},
		"why closed":                      {shop, []any{"w", "w"}, nil},
		"events":                          {shop, []any{"w", "e"}, []effect{look{paneEvents, installation("shop")}}},
		"a question":                      {shop, []any{"r"}, nil},
		"yes":                             {shop, []any{"r", "y"}, []effect{reconcile}},
		"of an object below":              {shop, []any{"end", "i", "y"}, []effect{interrupt}},
		"of the list":                     {started(shopAndBlog(), ""), []any{"r", "y"}, []effect{ask{"reconcile", installation("blog")}}},
		"no":                              {shop, []any{"r", "n"}, nil},
		"enter is not yes":                {shop, []any{"r", "enter"}, nil},
		"Y is yes, too":                   {shop, []any{"r", "Y"}, []effect{reconcile}},
		"a question is answered once":     {shop, []any{"r", "y", "y"}, nil},
		"no other question":               {shop, []any{"r", "i"}, nil},
		"q is no, too":                    {shop, []any{"r", "q"}, nil},
		"ctrl-c quits anyway":             {shop, []any{"r", "ctrl+c"}, []effect{quit{}}},
		"one request at a time":           {shop, []any{"r", "y", "i", "y"}, nil},
		"the next after that":             {shop, []any{"r", "y", asked{said: "done"}, "i", "y"}, []effect{interrupt}},
		"nothing of what is gone":         {started(forestOf(), "shop"), []any{"r", "y"}, nil},
		"no text of what is gone":         {started(forestOf(), "shop"), []any{"w"}, nil},
		"no q before the answer":          {shop, []any{"r", "y", "q"}, nil},
		"no esc either":                   {shop, []any{"r", "y", "esc"}, nil},
		"a second q":                      {shop, []any{"r", "y", "q", "down", "q"}, []effect{quit{}}},
		"ctrl-c does not wait":            {shop, []any{"r", "y", "ctrl+c"}, []effect{quit{}}},
		"q after the answer":              {shop, []any{"r", "y", asked{said: "done"}, "q"}, []effect{quit{}}},
		"no q before the next answer":     {shop, []any{"r", "y", "q", asked{said: "done"}, "r", "y", "q"}, nil},
		"a text that is up to date":       {shop, []any{"w", whyShop, later(5)}, nil},
		"a text that is not":              {shop, []any{"w", whyShop, grown{shopAndBlog()}, later(5)}, []effect{whyShop.look}},
		"a text that is new":              {shop, []any{"w", whyShop, grown{shopAndBlog()}, later(4)}, nil},
		"a text that was read late":       {shop, []any{"w", later(9), whyShop, grown{shopAndBlog()}, later(13)}, nil},
		"a text that is being read":       {shop, []any{"w", grown{shopAndBlog()}, later(5)}, nil},
		"a text that is being read again": {shop, []any{"w", whyShop, grown{shopAndBlog()}, later(5), later(10)}, nil},
		"a text after a lost line":        {shop, []any{"w", whyShop, connection{}, later(5)}, []effect{whyShop.look}},
		"events that are new":             {shop, []any{"e", eventsOfShop, grown{shopAndBlog()}, later(4)}, nil},
		"events that are old":             {shop, []any{"e", eventsOfShop, later(5)}, []effect{eventsOfShop.look}},
		"help is not read again":          {shop, []any{"?", grown{shopAndBlog()}, later(5)}, nil},
		"a key without a meaning":         {shop, []any{"x"}, nil},
		"a message without a meaning":     {shop, []any{struct{}{}}, nil},
		"keys do nothing to the list":     {started(forestOf(), ""), []any{"left"}, nil},
		"no question about an empty list": {started(forestOf(), ""), []any{"r", "y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := play(test.state, test.messages...); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestSelection says which object is selected.
func TestSelection(t *testing.T) {
	shop := started(shopAndBlog(), "shop")
	without := func(names ...string) grown {
		return grown{forestOf(slices.DeleteFunc(clitest.ShopObjects("shops"), func(o client.Object) bool { return slices.Contains(names, o.GetName()) })...)}
	}
	for name, test := range map[string]struct {
		state    state
		messages []any
		want     ref
	}{
		"the top":                  {shop, nil, installation("shop")},
		"not above it":             {shop, []any{"k"}, installation("shop")},
		"down":                     {shop, []any{"j"}, installation("shop-web")},
		"the last":                 {shop, []any{"end", "down"}, deployItem("shop-database-postgres")},
		"by the page":              {shop, []any{resized{80, 6}, "pgdown"}, ref{objecttree.Execution, "shops", "shop-web"}},
		"right goes down":          {shop, []any{"right", "right"}, ref{objecttree.Execution, "shops", "shop-web"}},
		"left closes":              {shop, []any{"down", "left", "down"}, installation("shop-database")},
		"right opens":              {shop, []any{"down", "left", "right", "down"}, ref{objecttree.Execution, "shops", "shop-web"}},
		"left goes up":             {shop, []any{"end", "left"}, ref{objecttree.Execution, "shops", "shop-database"}},
		"the filter keeps it":      {shop, []any{"down", "down", "f"}, ref{objecttree.Execution, "shops", "shop-web"}},
		"the filter takes it":      {shop, []any{"end", "f"}, deployItem("shop-web-smoke-test")},
		"it stays as others go":    {shop, []any{"end", without("shop-web-nginx")}, deployItem("shop-database-postgres")},
		"it goes":                  {shop, []any{"down", "down", "down", without("shop-web-nginx")}, deployItem("shop-web-smoke-test")},
		"all goes":                 {shop, []any{grown{forestOf()}}, ref{}},
		"it comes again":           {shop, []any{grown{forestOf()}, grown{shopAndBlog()}}, installation("shop")},
		"of the list":              {started(shopAndBlog(), ""), []any{"down"}, installation("shop")},
		"opened":                   {started(shopAndBlog(), ""), []any{"down", "enter", "down"}, installation("shop-web")},
		"back":                     {started(shopAndBlog(), ""), []any{"down", "enter", "down", "backspace"}, installation("shop")},
		"no list to go back to":    {shop, []any{"left", "left", "backspace"}, installation("shop")},
		"help is scrolled instead": {shop, []any{"?", "down", "?"}, installation("shop")},
	} {
		t.Run(name, func(t *testing.T) {
			if s, _ := play(test.state, test.messages...); s.cursor != test.want {
				t.Errorf("selected is %v, want %v\n%s", s.cursor, test.want, view(s))
			}
		})
	}
}

// A state is a value: what comes later does not change what was before.
func TestStatesDoNotChange(t *testing.T) {
	before, _ := play(started(shopAndBlog(), "shop"), "down", "left", "r", "y", noted("one"))
	screen := view(before)
	play(before, "right", noted("two"), asked{err: errors.New("no")}, "end", "left", "f", "w")
	if got := view(before); got != screen {
		t.Errorf("it was\n%s\nand is\n%s", screen, got)
	}
	left, _ := play(before, noted("left"), asked{said: "x"})
	play(before, noted("right"), asked{said: "y"})
	if !strings.Contains(view(left), "left") {
		t.Errorf("the other future is shown:\n%s", view(left))
	}
}

// Only the text about what the user looks at now is shown.
func TestLateAnswers(t *testing.T) {
	s, _ := play(started(shopAndBlog(), "shop"), "w", "down", "w", looked{look: look{paneWhy, installation("shop")}, text: plain{"too late"}})
	if got := view(s); strings.Contains(got, "too late") || !strings.Contains(got, "Reading ...") {
		t.Error(got)
	}
	s, _ = play(s, "esc", looked{look: look{paneWhy, installation("shop-web")}, text: plain{"too late"}})
	if got := view(s); strings.Contains(got, "too late") {
		t.Error(got)
	}
}
