// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// vagueNames do not say what is inside, so everything ends up there.
var vagueNames = []string{"common", "helper", "helpers", "misc", "shared", "util", "utils"}

func findVagueNames(tree *Tree) []Offence {
	var offences []Offence
	for _, file := range tree.Files {
		if inTestdata(file.Path) {
			continue
		}
		if name := vagueName(file.Path); name != "" {
			offences = append(offences, Offence{Path: file.Path, Line: 1, Message: fmt.Sprintf("the name %q says nothing", name)})
		}
	}
	for _, file := range tree.goFiles(everyFile) {
		if name := file.Go.Name.Name; slices.Contains(vagueNames, strings.TrimSuffix(name, "_test")) {
			offences = append(offences, tree.offence(file, file.Go.Name.Pos(), "the package name %q says nothing", name))
		}
	}
	return offences
}

// vagueName returns the first folder or file name of a path that is vague, or nothing.
func vagueName(name string) string {
	parts := strings.Split(name, "/")
	last := len(parts) - 1
	parts[last] = strings.TrimSuffix(strings.TrimSuffix(parts[last], path.Ext(parts[last])), "_test")
	for _, part := range parts {
		if slices.Contains(vagueNames, strings.ToLower(part)) {
			return part
		}
	}
	return ""
}

func findUndocumentedPackages(tree *Tree) []Offence {
	first := map[string]*File{}
	documented := map[string]bool{}
	var folders []string
	for _, file := range tree.goFiles(everyFile) {
		folder := file.Dir()
		if first[folder] == nil {
			first[folder] = file
			folders = append(folders, folder)
		}
		documented[folder] = documented[folder] || documentsPackage(file)
	}
	var offences []Offence
	for _, folder := range folders {
		if !documented[folder] {
			file := first[folder]
			offences = append(
				offences,
				tree.offence(file, file.Go.Package, "package %s has no comment that begins with %q", file.Go.Name.Name, docOpening(file)),
			)
		}
	}
	return offences
}

func documentsPackage(file *File) bool {
	return file.Go.Doc != nil && strings.HasPrefix(file.Go.Doc.Text(), docOpening(file)+" ")
}

func docOpening(file *File) string {
	if file.Go.Name.Name == "main" {
		return "Command " + path.Base(file.Dir())
	}
	return "Package " + file.Go.Name.Name
}
