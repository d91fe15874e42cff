// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package share lets tests with very many cases try a part of them: "make test" tries a few, each day others, and "make test-all" and
// plain "go test" try all.
package share

import (
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// Variable names the environment variable that makes tests try one case in as many as it says.
const Variable = "ESPALIER_TEST_SHARE"

// Cases selects which cases of a test to try: the first one, and one of each following group, drawn at random, because cases at equal
// distances have facts in common. A Cases is not safe for concurrent use.
type Cases struct {
	of, seen, drawn int
	chance          *rand.Rand
}

// All selects all cases.
func All() *Cases { return &Cases{of: 1} }

// Of starts to count the cases of a test. It panics if the variable is not a number of at least 1, so that a typo does not pass.
func Of() *Cases {
	value := os.Getenv(Variable)
	if value == "" {
		return All()
	}
	of, err := strconv.Atoi(value)
	if err != nil || of < 1 {
		panic(Variable + "=" + value + ": write a number of at least 1")
	}
	return &Cases{of: of, chance: rand.New(rand.NewPCG(uint64(time.Now().YearDay()), 0))}
}

// Try reports whether to try the next case.
func (c *Cases) Try() bool {
	if c.of == 1 {
		return true
	}
	place := c.seen % c.of
	if place == 0 && c.seen > 0 {
		c.drawn = c.chance.IntN(c.of)
	}
	c.seen++
	return place == c.drawn
}

// Whole estimates how many cases there are, given the number of tried ones.
func (c *Cases) Whole(tried int) int { return tried * c.of }
