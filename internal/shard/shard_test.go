// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/shard"
)

// roots returns realistic keys: some namespaces, and names that differ little.
func roots(n int) []string {
	var all []string
	for i := range n {
		all = append(all, shard.Key(fmt.Sprintf("team-%d", i%17), fmt.Sprintf("app-%d", i)))
	}
	return all
}

func TestParse(t *testing.T) {
	for text, want := range map[string]shard.Shard{
		"": {}, "1/1": {Number: 1, Of: 1}, "2/5": {Number: 2, Of: 5}, "100/100": {Number: 100, Of: 100},
	} {
		if got, err := shard.Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"2": "use NUMBER/COUNT", "/": "use NUMBER/COUNT", "a/b": "use NUMBER/COUNT", "2/5/7": "use NUMBER/COUNT", "02/5": "use NUMBER/COUNT",
		"+2/5": "use NUMBER/COUNT", " 2/5": "use NUMBER/COUNT", "2/5 ": "use NUMBER/COUNT", "1.0/2": "use NUMBER/COUNT",
		"99999999999999999999/2": "use NUMBER/COUNT",
		"0/5":                    "the number must be from 1 to 5",
		"6/5":                    "the number must be from 1 to 5",
		"-1/5":                   "the number must be from 1 to 5",
		"1/0":                    "the count must be from 1 to 100",
		"1/101":                  "the count must be from 1 to 100",
		"0/0":                    "the count must be from 1 to 100",
	} {
		want = fmt.Sprintf("%q is not a shard: %s", text, want)
		if got, err := shard.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestEachTreeBelongsToOneShard(t *testing.T) {
	for of := 1; of <= 12; of++ {
		for _, root := range roots(300) {
			owners := 0
			for number := 1; number <= of; number++ {
				if (shard.Shard{Number: number, Of: of}).Owns(root) {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("%s belongs to %d of %d shards", root, owners, of)
			}
		}
	}
	if !(shard.Shard{}).Owns("a/b") {
		t.Error("who does not share the work does not do all of it")
	}
}

func TestShardsAreOfTheSameSize(t *testing.T) {
	const trees = 20000
	for _, of := range []int{2, 3, 5, 10, shard.Most} {
		counts := map[int]int{}
		for _, root := range roots(trees) {
			counts[shard.OwnerOf(root, of)]++
		}
		for number := 1; number <= of; number++ {
			// With so many trees, ten times the square root of the mean is never reached by chance.
			mean := trees / of
			if difference := counts[number] - mean; difference*difference > 100*mean {
				t.Errorf("shard %d of %d has %d trees, and %d are expected", number, of, counts[number], mean)
			}
		}
	}
}

// Adding a shard moves trees to the new one only.
func TestFewTreesMove(t *testing.T) {
	const trees = 20000
	for of := 1; of < 12; of++ {
		moved := 0
		for _, root := range roots(trees) {
			before, after := shard.OwnerOf(root, of), shard.OwnerOf(root, of+1)
			if before == after {
				continue
			}
			moved++
			if after != of+1 {
				t.Fatalf("%s moves from shard %d of %d to the old shard %d", root, before, of, after)
			}
		}
		mean := trees / (of + 1)
		if difference := moved - mean; difference*difference > 100*mean {
			t.Errorf("from %d to %d shards %d of %d trees move, and %d are expected", of, of+1, moved, trees, mean)
		}
	}
}

// Processes of different versions must agree on the owner, so it never changes.
func TestOwnersAreForever(t *testing.T) {
	got := ""
	for _, root := range []string{"a/b", "team-1/app", "team-1/app-2", "default/hello-world", "garden/garden", "x/", ""} {
		for _, of := range []int{2, 3, 7, 100} {
			got += fmt.Sprint(shard.OwnerOf(root, of), " ")
		}
	}
	const want = "1 3 5 69 2 2 6 41 2 2 2 77 1 3 3 3 2 2 5 42 2 2 2 70 1 1 6 62"
	if got = strings.TrimSpace(got); got != want {
		t.Errorf("the owners are %s", got)
	}
}

// Two shards overlap exactly if some tree belongs to both.
func TestOverlaps(t *testing.T) {
	const most = 7
	var all []shard.Shard
	for of := 1; of <= most; of++ {
		for number := 1; number <= of; number++ {
			all = append(all, shard.Shard{Number: number, Of: of})
		}
	}
	both := map[[2]shard.Shard]bool{}
	for _, root := range roots(5000) {
		var owners []shard.Shard
		for of := 1; of <= most; of++ {
			owners = append(owners, shard.Shard{Number: shard.OwnerOf(root, of), Of: of})
		}
		for _, a := range owners {
			for _, b := range owners {
				both[[2]shard.Shard{a, b}] = true
			}
		}
	}
	for _, a := range all {
		for _, b := range all {
			if got, want := a.Overlaps(b), both[[2]shard.Shard{a, b}]; got != want {
				t.Errorf("%s overlaps with %s: %t, and trees that belong to both: %t", a, b, got, want)
			}
		}
		if !a.Overlaps(shard.Shard{}) || !(shard.Shard{}).Overlaps(a) {
			t.Errorf("%s does not overlap with all of the work", a)
		}
	}
}
