// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
)

// CheckedBlueprint is the result of checking a blueprint.
type CheckedBlueprint struct {
	// Source is the directory, or the file, document and installation.
	Source   string   `json:"source"`
	Errors   []string `json:"errors,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// CheckBlueprints checks the blueprints in directories, in files blueprint.yaml, and in the Installations of other files and directories.
func CheckBlueprints(paths []string, stdin io.Reader) ([]CheckedBlueprint, error) {
	if err := checkPaths(paths); err != nil {
		return nil, err
	}
	var checked []CheckedBlueprint
	for _, path := range paths {
		dir, isBlueprint := blueprintDirectory(path)
		if isBlueprint {
			files, err := readDirectory(dir)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", dir, err)
			}
			checked = append(checked, check(path, files))
			continue
		}
		if missing := neither(path); missing != "" {
			checked = append(checked, CheckedBlueprint{Source: path, Errors: []string{missing}})
			continue
		}
		inline, err := checkInstallations(path, stdin)
		if err != nil && isDirectory(path) {
			return nil, fmt.Errorf("%s has no %s, so its files are read as manifests: %w", path, lsv1alpha1.BlueprintFileName, err)
		}
		if err != nil {
			return nil, err
		}
		checked = append(checked, inline...)
	}
	return checked, nil
}

// neither says that a directory is no blueprint and has no manifests; otherwise it is empty.
func neither(path string) string {
	if !isDirectory(path) {
		return ""
	}
	if _, err := filesOf(path); err == nil {
		return ""
	}
	return fmt.Sprintf("the directory has neither a %s nor manifests, which are files that end with .yaml, .yml or .json", lsv1alpha1.BlueprintFileName)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return path != StdinPath && err == nil && info.IsDir()
}

// ReadBlueprint reads the directory of a blueprint, and checks it.
func ReadBlueprint(dir string) (blueprint.Files, CheckedBlueprint, error) {
	files, err := readDirectory(dir)
	if err != nil {
		return nil, CheckedBlueprint{}, fmt.Errorf("read the blueprint: %w", err)
	}
	return files, check(dir, files), nil
}

// blueprintDirectory returns the directory of the blueprint that the path refers to, if it does.
func blueprintDirectory(path string) (string, bool) {
	if filepath.Base(path) == lsv1alpha1.BlueprintFileName {
		return filepath.Dir(path), true
	}
	info, err := os.Stat(filepath.Join(path, lsv1alpha1.BlueprintFileName))
	return path, path != StdinPath && err == nil && !info.IsDir()
}

func check(source string, files blueprint.Files) CheckedBlueprint {
	findings := blueprint.Check(files)
	return CheckedBlueprint{Source: source, Errors: findings.Errors, Warnings: findings.Warnings}
}

func checkInstallations(path string, stdin io.Reader) ([]CheckedBlueprint, error) {
	m := NewManifests(lsv1alpha1.DefaultContextName)
	if err := m.ReadPaths([]string{path}, stdin); err != nil {
		return nil, err
	}
	var checked []CheckedBlueprint
	for _, inst := range m.Installations {
		if inst.Spec.Blueprint.Inline == nil {
			continue
		}
		source := fmt.Sprintf("%s: Installation %s", m.origin(inst), inst.Name)
		files, err := blueprint.InlineFiles(inst.Spec.Blueprint.Inline.Filesystem)
		if err != nil {
			checked = append(checked, CheckedBlueprint{Source: source, Errors: []string{"spec.blueprint.inline.filesystem: " + err.Error()}})
			continue
		}
		c := check(source, files)
		c.Warnings = append(c.Warnings, blueprint.CheckMappings(&inst.Spec, files, m.importedNumber(inst)).Warnings...)
		for _, warning := range m.Warnings {
			if strings.HasPrefix(warning, fmt.Sprintf("%s: Installation %s/%s: ", m.origin(inst), inst.Namespace, inst.Name)) {
				c.Warnings = append(c.Warnings, strings.TrimPrefix(warning, m.origin(inst)+": "))
			}
		}
		checked = append(checked, c)
	}
	return checked, nil
}
