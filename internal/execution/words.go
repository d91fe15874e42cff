// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxNamed limits how many items a message names.
	maxNamed = 10
	// maxProblem limits how many bytes of an item's error a message repeats.
	maxProblem = 500
)

// String names the item and its object.
func (i Item) String() string {
	switch object := i.ObjectName(); {
	case i.Name == "":
		return object
	case object == "":
		return fmt.Sprintf("%q", i.Name)
	default:
		return fmt.Sprintf("%q (%s)", i.Name, object)
	}
}

// list names items; if there are many, only the first ones.
func list(items []Item) string {
	return join(items, ", ", func(i Item) string {
		if i.Name == "" {
			return i.ObjectName()
		}
		return i.Name
	})
}

// problemsOf describes what is wrong with each item.
func problemsOf(items []Item) string {
	return join(items, "; ", func(i Item) string {
		switch {
		case i.State == StateAbsent:
			return i.String() + " no longer exists"
		case i.State == StateIdle:
			return i.String() + " is being deleted"
		case i.State == StateSucceeded:
			return i.String() + " has finished this job and still exists"
		default:
			return i.String() + ": " + shorten(i.Problem)
		}
	})
}

func join(items []Item, separator string, word func(Item) string) string {
	words := make([]string, 0, maxNamed+1)
	for _, item := range items[:min(len(items), maxNamed)] {
		words = append(words, word(item))
	}
	if more := len(items) - maxNamed; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, separator)
}

func shorten(text string) string {
	if len(text) <= maxProblem {
		return text
	}
	return strings.ToValidUTF8(text[:maxProblem], "") + "..."
}

// codesOf returns the error codes of all items.
func codesOf(items []Item) []string {
	var codes []string
	for _, item := range items {
		codes = append(codes, item.Codes...)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// named returns the items with the given names.
func named(items []Item, names []string) []Item {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	return filter(items, func(i Item) bool { return wanted[i.Name] })
}

// filter returns the items for which holds returns true.
func filter(items []Item, holds func(Item) bool) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return !holds(i) })
}
