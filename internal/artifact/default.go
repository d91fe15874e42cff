// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/repository"
)

// DefaultFlag is the flag for RegistryOptions.Default.
const DefaultFlag = repository.DefaultFlag

// ParseDefault parses the value of DefaultFlag: the address of a registry, or a repository context in JSON. Empty means the zero value. It
// does not check that the repository exists.
func ParseDefault(text string) (component.RepositoryContext, error) {
	if text == "" {
		return component.RepositoryContext{}, nil
	}
	parsed, err := contextOf(text)
	if err == nil {
		err = repository.Check(parsed)
	}
	if err != nil {
		return component.RepositoryContext{}, fmt.Errorf(
			`--%s: %w: use the address of a registry, such as registry.example.com/components, `+
				`or a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"registry.example.com/components"}`, DefaultFlag, err)
	}
	return parsed, nil
}

func contextOf(text string) (component.RepositoryContext, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return component.ParseRepositoryContext(&lsv1alpha1.AnyJSON{Raw: []byte(text)})
	}
	return component.NewRepositoryContext(map[string]any{"type": "OCIRegistry", "baseUrl": text})
}
