// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
)

// DefaultFlag is the flag that says where components are for which nothing else does, wherever there is one. Errors name it.
const DefaultFlag = "default-repository-context"

// ParseContext understands how a repository is written in DefaultFlag: as the address of a registry, or as a repository context in JSON.
// Nothing is the zero value. Whether anything is there is not asked.
func ParseContext(text string) (component.RepositoryContext, error) {
	if text == "" {
		return component.RepositoryContext{}, nil
	}
	parsed, err := contextOfFlag(text)
	if err == nil {
		_, err = New(Options{}).place(parsed)
	}
	if err != nil && !errors.Is(err, resolve.ErrNotFound) {
		return component.RepositoryContext{}, fmt.Errorf(
			`--%s: %w: write the address of a registry, such as registry.example.com/components, `+
				`or a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"registry.example.com/components"}`, DefaultFlag, err)
	}
	return parsed, nil
}

func contextOfFlag(text string) (component.RepositoryContext, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return component.ParseRepositoryContext(&lsv1alpha1.AnyJSON{Raw: []byte(text)})
	}
	return component.NewRepositoryContext(map[string]any{"type": "OCIRegistry", "baseUrl": text})
}
