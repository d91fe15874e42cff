// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dependencies maps modules to their versions.
type Dependencies map[string]string

// Module is one Go module of the tree.
type Module struct {
	// GoMod is the path of its go.mod file, relative to the root of the tree.
	GoMod string
	// requires contains all modules in the build list, direct or not.
	requires Dependencies
	// tools are the packages of pinned developer tools.
	tools []string
}

// ReadModule reads a go.mod file, whose name is relative to root.
func ReadModule(root, goMod string) (*Module, error) {
	output, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, filepath.FromSlash(goMod))).Output()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", goMod, err)
	}
	var file struct {
		Require []struct{ Path, Version string }
		Tool    []struct{ Path string }
	}
	if err := json.Unmarshal(output, &file); err != nil {
		return nil, fmt.Errorf("decode %s: %w", goMod, err)
	}
	module := &Module{GoMod: goMod, requires: Dependencies{}}
	for _, required := range file.Require {
		module.requires[required.Path] = required.Version
	}
	for _, tool := range file.Tool {
		module.tools = append(module.tools, tool.Path)
	}
	return module, nil
}

// Direct returns the third-party modules that packages of this module import, including tests, or that provide its tools. It reads the
// imports, because go.mod says "indirect" until somebody tidies it.
func (m *Module) Direct(tree *Tree, all []*Module) Dependencies {
	direct := Dependencies{}
	for _, file := range tree.goFiles(func(f *File) bool { return m.owns(f, all) }) {
		for _, spec := range file.Go.Imports {
			m.addProvider(direct, importPath(spec))
		}
	}
	for _, tool := range m.tools {
		m.addProvider(direct, tool)
	}
	return direct
}

// owns reports whether a file belongs to this module and not to one nested in it.
func (m *Module) owns(file *File, all []*Module) bool {
	for _, other := range all {
		if within(other.folder(), m.folder()) && other != m && within(file.Dir(), other.folder()) {
			return false
		}
	}
	return within(file.Dir(), m.folder())
}

func (m *Module) folder() string { return path.Dir(m.GoMod) }

// addProvider finds the module that provides an imported package: the required one with the longest matching path.
func (m *Module) addProvider(direct Dependencies, imported string) {
	provider := ""
	for required := range m.requires {
		if within(imported, required) && len(required) > len(provider) {
			provider = required
		}
	}
	if provider != "" && !within(provider, modulePath) {
		direct[provider] = m.requires[provider]
	}
}

// DifferingVersions returns the modules that two modules require in different versions, whose packages would be compiled twice, together
// with all packages that import them.
func DifferingVersions(one, other *Module) []string {
	var problems []string
	for _, path := range slices.Sorted(maps.Keys(one.requires)) {
		version, shared := other.requires[path]
		if shared && version != one.requires[path] {
			problems = append(problems, fmt.Sprintf("%s requires %s %s, %s requires %s: use the newer one in both, so that it is compiled once",
				one.GoMod, path, one.requires[path], other.GoMod, version))
		}
	}
	return problems
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
				problems = append(problems, fmt.Sprintf("%s requires %s %s without a reason: add a row", goMod, path, version))
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
