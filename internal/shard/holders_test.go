// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/shard"
)

var (
	oneOfTwo   = shard.Shard{Number: 1, Of: 2}
	twoOfTwo   = shard.Shard{Number: 2, Of: 2}
	oneOfThree = shard.Shard{Number: 1, Of: 3}
	lastThird  = shard.Shard{Number: 3, Of: 3}
)

func holder(identity string, second int) shard.Holder {
	at := time.Date(2026, 1, 2, 3, 4, second, 5000, time.UTC)
	return shard.Holder{Identity: identity, Acquired: at, Renewed: at, Seconds: 15, Transitions: 1}
}

func TestHoldersAreReadAsTheyAreWritten(t *testing.T) {
	want := shard.Holders{oneOfTwo: holder("a", 1), twoOfTwo: holder("b", 2)}
	summary, annotation := want.Write()
	if summary != "shards 1/2 2/2" {
		t.Errorf("the Lease is held by %q", summary)
	}
	got, err := shard.Read(summary, annotation)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if summary, annotation = (shard.Holders{}).Write(); summary != "" || annotation != "" {
		t.Errorf("nobody is written as %q and %q", summary, annotation)
	}
}

// An annotation that a process doing all of the work found and kept is no longer valid.
func TestAnAnnotationCountsOnlyWithItsHolder(t *testing.T) {
	_, annotation := shard.Holders{oneOfTwo: holder("a", 1)}.Write()
	for _, other := range []string{"", "pod-1_3f6a", "shards"} {
		if got, err := shard.Read(other, annotation); len(got) > 0 || err != nil {
			t.Errorf("held by %q: %v, %v", other, got, err)
		}
	}
	for _, broken := range []string{"", "{", `{"4/3":{}}`, `{"1/1":{}}`, `{"":{}}`, `[]`} {
		if got, err := shard.Read("shards 1/2", broken); err == nil {
			t.Errorf("%q is read as %v", broken, got)
		}
	}
}

func TestWhoWantsAShardWaitsForThoseThatOverlap(t *testing.T) {
	two := shard.Holders{oneOfTwo: holder("a", 1), twoOfTwo: holder("b", 2)}
	for name, test := range map[string]struct {
		wants  shard.Shard
		rivals []shard.Shard
	}{
		"one that starts again":      {oneOfTwo, []shard.Shard{oneOfTwo}},
		"the same number of more":    {oneOfThree, []shard.Shard{oneOfTwo}},
		"one that is new":            {lastThird, []shard.Shard{oneOfTwo, twoOfTwo}},
		"one that does all the work": {shard.Shard{}, []shard.Shard{oneOfTwo, twoOfTwo}},
	} {
		if got := two.Rivals(test.wants, "c").Shards(); !reflect.DeepEqual(got, test.rivals) {
			t.Errorf("%s waits for %v", name, got)
		}
	}
	if got := two.Rivals(oneOfTwo, "a"); len(got) > 0 {
		t.Errorf("a holder waits for %v", got)
	}
}

func TestTakingAndLettingGo(t *testing.T) {
	two := shard.Holders{oneOfTwo: holder("a", 1), twoOfTwo: holder("b", 2)}
	if got := two.With(oneOfThree, holder("c", 3)).Shards(); !reflect.DeepEqual(got, []shard.Shard{twoOfTwo, oneOfThree}) {
		t.Errorf("after a shard was taken, there are %v", got)
	}
	if got := two.With(lastThird, holder("c", 3)).Shards(); !reflect.DeepEqual(got, []shard.Shard{lastThird}) {
		t.Errorf("after a shard was taken that overlaps with all, there are %v", got)
	}
	if got := two.Without("a").Shards(); !reflect.DeepEqual(got, []shard.Shard{twoOfTwo}) {
		t.Errorf("after one has let go, there are %v", got)
	}
	if len(two) != 2 || shard.Holders(nil).Without("a") != nil {
		t.Error("what was there before has changed")
	}
}

// Waiting for several holders takes as long as each of them requires.
func TestThoseWhoAreWaitedForTogether(t *testing.T) {
	patient := holder("a", 1)
	patient.Seconds = 60
	got := shard.Holders{oneOfTwo: patient, twoOfTwo: holder("b", 2)}.Together()
	want := holder("b", 2)
	want.Seconds = 60
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (shard.Holders{oneOfTwo: {}}).Together(); got != (shard.Holder{}) {
		t.Errorf("nobody is %+v", got)
	}
}
