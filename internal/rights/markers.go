// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Right is one verb on one resource.
type Right struct {
	Verb, Group string
	// Resource is the plural of the resource, with the subresource after a slash.
	Resource string
}

// On returns the resource as kubectl writes it.
func (r Right) On() string {
	resource, sub, isSub := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if isSub {
		resource += "/" + sub
	}
	return resource
}

func (r Right) String() string { return r.Verb + " " + r.On() }

// Grant is a right of a role, and its reason.
type Grant struct {
	Role string
	Right
	Reason string
	// At is the file of the marker, with its line.
	At string
}

// verbs are in the order in which they are listed. The last one is ours: the right to decide on promotions.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "approve"}

const (
	opening      = "//espalier:rights"
	continuation = "//\t"
)

// Read collects the rights of all markers below a folder.
func Read(root fs.FS) ([]Grant, error) {
	groups, err := groupsOf(root)
	if err != nil {
		return nil, err
	}
	var grants []Grant
	var problems []error
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipped(name, entry.Name())
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found, err := parse(name, string(text), groups)
		grants, problems = append(grants, found...), append(problems, err)
		return nil
	})
	return grants, errors.Join(append(problems, err)...)
}

// skipped omits folders without code of the product.
func skipped(name, base string) error {
	if name != "." && strings.HasPrefix(base, ".") || slices.Contains([]string{"node_modules", "testdata", "bin"}, base) {
		return fs.SkipDir
	}
	return nil
}

// groupsOf returns the API groups of the project's resources, by resource.
func groupsOf(root fs.FS) (map[string]string, error) {
	files, err := fs.Glob(root, "config/crd/*.yaml")
	if err == nil && len(files) == 0 {
		err = errors.New("config/crd has no CRDs: run tools/generate.sh")
	}
	groups := map[string]string{}
	for _, file := range files {
		group, resource, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".yaml"), "_")
		groups[resource] = group
	}
	return groups, err
}

// parse reads the markers of a file.
func parse(file, text string, groups map[string]string) ([]Grant, error) {
	var grants []Grant
	var problems []error
	var holders []string
	inside, rights := false, 0
	for i, line := range strings.Split(text+"\n", "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		var err error
		switch rest, begins := strings.CutPrefix(line, opening); {
		case begins:
			inside, rights = true, 0
			holders, err = rolesNamed(strings.TrimSpace(rest))
		case inside && strings.HasPrefix(line, continuation):
			rights++
			var found []Grant
			found, err = grantsOf(strings.TrimPrefix(line, continuation), holders, groups)
			for k := range found {
				found[k].At = at
			}
			grants = append(grants, found...)
		case inside:
			inside = false
			if rights == 0 {
				err = errors.New("the marker has no rights: write them on the lines that follow, each as \"//<tab>verbs resources: reason\"")
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", at, err))
		}
	}
	return grants, errors.Join(problems...)
}

// rolesNamed returns the names of roles at the start of a marker.
func rolesNamed(text string) ([]string, error) {
	var names []string
	for pattern := range strings.SplitSeq(text, ",") {
		before := len(names)
		for _, role := range roles {
			if fits, err := path.Match(pattern, role.Name); err == nil && fits {
				names = append(names, role.Name)
			}
		}
		if len(names) == before {
			return nil, fmt.Errorf("there is no role %q: the table in internal/rights/roles.go has them all", pattern)
		}
	}
	return names, nil
}

// grantsOf parses "get,list pods,pods/log: reason".
func grantsOf(line string, holders []string, groups map[string]string) ([]Grant, error) {
	what, reason, explained := strings.Cut(line, ": ")
	asked, on, complete := strings.Cut(what, " ")
	if !explained || !complete || strings.TrimSpace(reason) == "" || strings.Contains(on, " ") {
		return nil, fmt.Errorf("%q is not a right: write \"verbs resources: reason\", with commas and without spaces in verbs and resources", line)
	}
	var grants []Grant
	for _, holder := range holders {
		for resource := range strings.SplitSeq(on, ",") {
			for verb := range strings.SplitSeq(asked, ",") {
				if !slices.Contains(verbs, verb) {
					return nil, fmt.Errorf("%q is not a verb: the verbs are %s", verb, strings.Join(verbs, ", "))
				}
				grants = append(grants, Grant{Role: holder, Right: rightOn(verb, resource, groups), Reason: strings.TrimSpace(reason)})
			}
		}
	}
	return grants, nil
}

func rightOn(verb, resource string, groups map[string]string) Right {
	resource, sub, isSub := strings.Cut(resource, "/")
	plural, group, named := strings.Cut(resource, ".")
	if !named {
		group = groups[plural]
	}
	if isSub {
		plural += "/" + sub
	}
	return Right{Verb: verb, Group: group, Resource: plural}
}
