// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Result is what became of a mutant the last time that somebody recorded it. Only a run with -update writes results.
type Result struct {
	ID     string `json:"id"`
	Breaks string `json:"breaks"`
	// Edit is the hash of what was tried, see [Mutant.Edit].
	Edit string `json:"edit"`
	// Killer is the test that failed, as FOLDER: TEST; empty if none did.
	Killer string `json:"killer,omitempty"`
	// Date is that of the commit that was checked out.
	Date string `json:"date"`
}

// Panic stands for the test in a result if the tests ended with a panic that names none.
const Panic = "panic"

// ResultsFile holds the results, relative to the root of the module.
const ResultsFile = "internal/conformance/mutants/results.json"

// Edit returns a hash of the change that the mutant makes.
func (m Mutant) Edit() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", m.File, m.Old, m.New))
	return hex.EncodeToString(sum[:6])
}

// ResultOf returns the result of a mutant, and whether it has one. That of another edit under the same name comes with Edit empty.
func ResultOf(m Mutant, results []Result) (Result, bool) {
	i := slices.IndexFunc(results, func(r Result) bool { return r.ID == m.ID && r.Breaks == m.Breaks })
	if i < 0 {
		return Result{}, false
	}
	if results[i].Edit != m.Edit() {
		return Result{ID: m.ID, Breaks: m.Breaks}, true
	}
	return results[i], true
}

// ReadResults returns the recorded results, none if there is no file.
func ReadResults(root string) ([]Result, error) {
	text, err := os.ReadFile(filepath.Join(root, ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var results []Result
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, fmt.Errorf("read %s: %w", ResultsFile, err)
	}
	return results, nil
}

// Record replaces the results of the mutants that were tried, drops those of mutants that no longer exist, and writes the file.
func Record(root string, tried []Result) error {
	before, err := ReadResults(root)
	if err != nil {
		return err
	}
	var results []Result
	for _, m := range All() {
		for _, known := range [][]Result{tried, before} {
			at := slices.IndexFunc(known, func(r Result) bool { return r.ID == m.ID && r.Breaks == m.Breaks })
			if at >= 0 {
				results = append(results, known[at])
				break
			}
		}
	}
	return os.WriteFile(filepath.Join(root, ResultsFile), format(results), 0o644)
}

// format writes one result per line, so that a change of one is a change of one line.
func format(results []Result) []byte {
	var lines []string
	for _, r := range results {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err) // a struct of strings
		}
		lines = append(lines, string(line))
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n]\n")
}
