// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rbac holds the roles that the project brings. They are generated from markers in the code by tools/generate.sh.
package rbac

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Role is one of the roles.
type Role struct {
	// Name is the one in a cluster.
	Name string
	// File is the one that has it.
	File string
	// Namespaced says that it is a Role, for the namespace of the controllers. The others are ClusterRoles.
	Namespaced bool
	Rules      []rbacv1.PolicyRule
}

// ControllerFile has the roles that the account of the controllers is bound to.
const ControllerFile = "controller.yaml"

// All returns all roles, file by file.
func All() ([]Role, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list embedded roles: %w", err)
	}
	var roles []Role
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read embedded roles: %w", err)
		}
		for _, document := range strings.Split(string(text), "---\n")[1:] {
			role := &rbacv1.ClusterRole{}
			if err := yaml.UnmarshalStrict([]byte(document), role); err != nil {
				return nil, fmt.Errorf("read embedded roles %s: %w", name, err)
			}
			roles = append(roles, Role{Name: role.Name, File: name, Namespaced: role.Kind == "Role", Rules: role.Rules})
		}
	}
	return roles, nil
}
