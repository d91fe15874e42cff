// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"fmt"
	"slices"
	"strings"
)

// kinds are the prefixes that a name may have.
var kinds = map[string]Kind{
	"installation": Installation, "inst": Installation, "execution": Execution, "exec": Execution, "deployitem": DeployItem, "di": DeployItem,
}

// ParseName reads an argument that names an object: the name of an installation, or a kind and a name as trees, kubectl
// and -o name write them.
func ParseName(argument string) (Kind, string, error) {
	prefix, name, found := strings.Cut(argument, "/")
	if !found {
		return Installation, argument, nil
	}
	kind, _, _ := strings.Cut(strings.ToLower(prefix), ".")
	if known, ok := kinds[strings.TrimSuffix(kind, "s")]; ok && name != "" {
		return known, name, nil
	}
	return "", "", fmt.Errorf("%q is not valid: use the name of an installation, execution/NAME or deployitem/NAME", argument)
}

// InstallationNames reads arguments that name installations. A repeated name counts once.
func InstallationNames(arguments []string) ([]string, error) {
	var names []string
	for _, argument := range arguments {
		kind, name, err := ParseName(argument)
		if err != nil || kind != Installation {
			return nil, fmt.Errorf("%q does not name an installation, which this command needs", argument)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
