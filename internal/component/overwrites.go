// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Overwrites redirect references to components. The zero value and nil change nothing.
type Overwrites struct {
	rules []overwrite
}

// overwrite is one rule; an empty attribute of source matches everything, and one of substitution changes nothing.
type overwrite struct {
	source, substitution Coordinates
}

// NewOverwrites validates the rules of the API.
func NewOverwrites(list []lsv1alpha1.ComponentVersionOverwrite) (*Overwrites, error) {
	o := &Overwrites{rules: make([]overwrite, len(list))}
	for i := range list {
		var err error
		if o.rules[i].source, err = overwriteCoordinates(list[i].Source); err != nil {
			return nil, fmt.Errorf("overwrites[%d].source: %w", i, err)
		}
		if o.rules[i].substitution, err = overwriteCoordinates(list[i].Substitution); err != nil {
			return nil, fmt.Errorf("overwrites[%d].substitution: %w", i, err)
		}
	}
	return o, nil
}

func overwriteCoordinates(ref lsv1alpha1.ComponentVersionOverwriteReference) (Coordinates, error) {
	context, err := ParseRepositoryContext(ref.RepositoryContext)
	return Coordinates{RepositoryContext: context, Name: ref.ComponentName, Version: ref.Version}, err
}

// Apply returns the coordinates to use instead. The rules are tried in order, and each is compared with the original, not with the result
// of earlier rules. A matching rule applies completely, or not at all if an earlier one has already replaced one of its attributes.
func (o *Overwrites) Apply(original Coordinates) Coordinates {
	if o == nil {
		return original
	}
	var replaced Coordinates
	for _, rule := range o.rules {
		if rule.source.covers(original) && rule.substitution.disjoint(replaced) {
			replaced = rule.substitution.or(replaced)
		}
	}
	return replaced.or(original)
}

// covers reports whether every attribute that is set equals that of other.
func (c Coordinates) covers(other Coordinates) bool {
	return (c.Name == "" || c.Name == other.Name) &&
		(c.Version == "" || c.Version == other.Version) &&
		(c.RepositoryContext.IsZero() || c.RepositoryContext == other.RepositoryContext)
}

// disjoint reports whether no attribute is set in both.
func (c Coordinates) disjoint(other Coordinates) bool {
	return (c.Name == "" || other.Name == "") &&
		(c.Version == "" || other.Version == "") &&
		(c.RepositoryContext.IsZero() || other.RepositoryContext.IsZero())
}

// or fills unset attributes from other.
func (c Coordinates) or(other Coordinates) Coordinates {
	if c.Name == "" {
		c.Name = other.Name
	}
	if c.Version == "" {
		c.Version = other.Version
	}
	if c.RepositoryContext.IsZero() {
		c.RepositoryContext = other.RepositoryContext
	}
	return c
}
