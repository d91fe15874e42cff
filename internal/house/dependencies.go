// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Dependencies maps the modules that a go.mod file asks for directly to their versions.
type Dependencies map[string]string

// ReadDependencies returns the direct dependencies of a go.mod file, modules of this project left out. The modules of
// its tools count as direct, although the go command marks them otherwise.
func ReadDependencies(goMod string) (Dependencies, error) {
	output, err := exec.Command("go", "mod", "edit", "-json", goMod).Output()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", goMod, err)
	}
	var module struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(output, &module); err != nil {
		return nil, fmt.Errorf("decode %s: %w", goMod, err)
	}
	direct := Dependencies{}
	for _, required := range module.Require {
		usedByTool := false
		for _, tool := range module.Tool {
			usedByTool = usedByTool || within(tool.Path, required.Path)
		}
		if (usedByTool || !required.Indirect) && !within(required.Path, modulePath) {
			direct[required.Path] = required.Version
		}
	}
	return direct, nil
}

// dependencyRow matches "| `path` | version | reason |".
var dependencyRow = regexp.MustCompile("^\\| `([^`]+)` \\| ([^| ]+) \\| (.*) \\|$")

// CompareDependencies returns the differences between go.mod files and the page that gives a reason for each of their
// direct dependencies. The page has a section per module, headed by the path of its go.mod in backquotes.
func CompareDependencies(page string, modules map[string]Dependencies) []string {
	documented, problems := parseDependencyPage(page)
	for _, goMod := range slices.Sorted(maps.Keys(modules)) {
		rows := documented[goMod]
		for _, path := range slices.Sorted(maps.Keys(modules[goMod])) {
			version := modules[goMod][path]
			switch {
			case rows[path] == "":
				problems = append(problems, fmt.Sprintf("%s requires %s %s, and nobody says why", goMod, path, version))
			case rows[path] != version:
				problems = append(problems, fmt.Sprintf("%s requires %s %s, the page says %s", goMod, path, version, rows[path]))
			}
		}
		for _, path := range slices.Sorted(maps.Keys(rows)) {
			if _, required := modules[goMod][path]; !required {
				problems = append(problems, fmt.Sprintf("the page lists %s, which %s does not require", path, goMod))
			}
		}
	}
	for _, goMod := range slices.Sorted(maps.Keys(documented)) {
		if modules[goMod] == nil {
			problems = append(problems, fmt.Sprintf("the page has a section for %s, which does not exist", goMod))
		}
	}
	return problems
}

func parseDependencyPage(page string) (documented map[string]Dependencies, problems []string) {
	documented = map[string]Dependencies{}
	section := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = ""
			if strings.HasSuffix(strings.Trim(heading, "`"), "go.mod") {
				section = strings.Trim(heading, "`")
				documented[section] = Dependencies{}
			}
		}
		row := dependencyRow.FindStringSubmatch(line)
		if section == "" || row == nil {
			continue
		}
		documented[section][row[1]] = row[2]
		if strings.TrimSpace(row[3]) == "" {
			problems = append(problems, fmt.Sprintf("%s: %s is listed without a reason", section, row[1]))
		}
	}
	return documented, problems
}
