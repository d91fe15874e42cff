// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPlansAreReadAndPrinted(t *testing.T) {
	cases := map[string]Plan{
		"":                {},
		"write:7:after":   At(7, CrashAfter),
		"write:1:before":  At(1, CrashBefore),
		"write:2:lost":    At(2, LoseAnswer),
		"request:3:reset": {Requests: []RequestFault{{What: Pattern{Verb: "*"}, Which: Which{Number: 3}, Do: Reset}}},
		"write:*:slow=200ms": {
			Requests: []RequestFault{{What: Pattern{Verb: "write"}, Which: Which{All: true}, Do: Slow(200 * time.Millisecond)}},
		},
		"write:5%@42:503": {
			Requests: []RequestFault{{What: Pattern{Verb: "write"}, Which: Which{Percent: 5, Seed: 42}, Do: AnswerUnavailable}},
		},
		"patch/installations/status=root:3:409": {Requests: []RequestFault{{
			What:  Pattern{Verb: "patch", Resource: "installations", Subresource: "status", Name: "root"},
			Which: Which{Number: 3},
			Do:    AnswerConflict,
		}}},
		"write/configmaps/*:1:lost-timeout": {Requests: []RequestFault{{
			What: Pattern{Verb: "write", Resource: "configmaps", Subresource: "*"}, Which: Which{Number: 1}, Do: LoseAnswerByTimeout,
		}}},
		"watch:installations:hold":          {Watches: []WatchFault{{Resource: "installations", Do: Hold}}},
		"watch:installations:hold:7":        {Watches: []WatchFault{{Resource: "installations", Do: Hold, From: 7}}},
		"watch:installations:hold:7..9":     {Watches: []WatchFault{{Resource: "installations", Do: Hold, From: 7, To: 9}}},
		"watch:installations:relist:7..+5s": {Watches: []WatchFault{{Resource: "installations", Do: Relist, From: 7, For: 5 * time.Second}}},
		"watch:installations:hold:0..+2s":   {Watches: []WatchFault{{Resource: "installations", Do: Hold, For: 2 * time.Second}}},
		"watch:a.example.org:slow=50ms:2..4": {Watches: []WatchFault{{
			Resource: "a.example.org",
			Do:       SlowWatch,
			Delay:    50 * time.Millisecond,
			From:     2,
			To:       4,
		}}},
		"watch:secrets:cut:1":                 {Watches: []WatchFault{{Resource: "secrets", Do: Cut, From: 1}}},
		"watch:secrets:gone:1":                {Watches: []WatchFault{{Resource: "secrets", Do: Gone, From: 1}}},
		"write:7:after;watch:secrets:hold:6":  At(7, CrashAfter).And(Plan{Watches: []WatchFault{{Resource: "secrets", Do: Hold, From: 6}}}),
		"write:1:429;write:2:500;write:3:504": At(1, AnswerTooMany).And(At(2, AnswerInternalError)).And(At(3, AnswerGatewayTimeout)),
		"write:1:timeout;create/pods:2:before": At(1, Timeout).And(Plan{Requests: []RequestFault{{
			What:  Pattern{Verb: "create", Resource: "pods"},
			Which: Which{Number: 2},
			Do:    CrashBefore,
		}}}),
	}
	for text, plan := range cases {
		t.Run(text, func(t *testing.T) {
			if plan.String() != text {
				t.Errorf("prints as %q, want %q", plan, text)
			}
			parsed, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(parsed, plan) {
				t.Errorf("read %#v, want %#v", parsed, plan)
			}
		})
	}
}

func TestParseForgivesSpace(t *testing.T) {
	plan, err := Parse(" write:1:lost ; watch:secrets:hold ; ")
	if err != nil || plan.String() != "write:1:lost;watch:secrets:hold" {
		t.Errorf("read %q, %v", plan, err)
	}
}

func TestParseRefusesNonsense(t *testing.T) {
	cases := map[string]string{ // text: what the error must contain
		"write:7":                       "WHAT:WHICH:ACTION",
		"write:7:after:more":            "WHAT:WHICH:ACTION",
		"write:0:after":                 "number from 1",
		"write:x:after":                 "number from 1",
		"write:101%@1:500":              "share of 1 to 100",
		"write:5%@x:500":                "share of 1 to 100",
		"write:1:explode":               `no action "explode"`,
		"write:1:slow":                  `no action "slow"`,
		"write:1:slow=0s":               "above zero",
		"watch:secrets:slow=-1s":        "above zero",
		"watch:secrets:hold:1..+0s":     "above zero",
		"write:1:slow=fast":             "invalid duration",
		"read:1:lost":                   "VERB/RESOURCE",
		"patch//status:1:lost":          "VERB/RESOURCE",
		"watch:secrets":                 "watch:RESOURCE:ACTION",
		"watch::hold":                   "watch:RESOURCE:ACTION",
		"watch:secrets:explode":         "no action",
		"watch:secrets:hold=5s":         "takes a time",
		"watch:secrets:slow":            "takes a time",
		"watch:secrets:slow=x":          "invalid duration",
		"watch:secrets:hold:x":          "number of a write",
		"watch:secrets:hold:7..6":       "not before 7",
		"watch:secrets:hold:7..+x":      "invalid duration",
		"watch:secrets:cut":             "at one write",
		"watch:secrets:cut:1..2":        "at one write",
		"watch:secrets:relist:3":        "needs an end",
		"write:1:lost;write:2:nonsense": `fault "write:2:nonsense"`,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			plan, err := Parse(text)
			if err == nil {
				t.Fatalf("read it as %q", plan)
			}
			if !strings.Contains(err.Error(), want) {
				t.Errorf("says %q, which does not mention %q", err, want)
			}
		})
	}
}

// A failing run prints its plan: every printed plan must parse to the same plan.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"write:7:after", "patch/a/b=c:2:409", "write:5%@42:503", "watch:a:slow=1s:2..+3s", "watch:a:relist:1..2;request:1:lost"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(plan.String())
		if err != nil || !reflect.DeepEqual(plan, again) {
			t.Errorf("%q prints as %q, which reads as %#v, %v", text, plan, again, err)
		}
	})
}

func TestASharesChoiceDependsOnTheSeedAlone(t *testing.T) {
	chosen := func(w Which) (numbers []int) {
		for n := range 1000 {
			if w.selects(n) {
				numbers = append(numbers, n)
			}
		}
		return numbers
	}
	first := chosen(Which{Percent: 20, Seed: 1})
	if again := chosen(Which{Percent: 20, Seed: 1}); !reflect.DeepEqual(first, again) {
		t.Error("the same seed chose differently")
	}
	if other := chosen(Which{Percent: 20, Seed: 2}); reflect.DeepEqual(first, other) {
		t.Error("another seed chose the same")
	}
	if len(first) < 150 || len(first) > 250 {
		t.Errorf("20%% of 1000 are %d", len(first))
	}
	if all := chosen(Which{Percent: 100, Seed: 3}); len(all) != 1000 {
		t.Errorf("100%% of 1000 are %d", len(all))
	}
}
