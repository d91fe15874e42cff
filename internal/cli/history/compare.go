// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/diff"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/preview"
)

// side is one of two specs that are compared.
type side struct {
	name string
	spec json.RawMessage
}

func revisionSide(revision lsv1alpha1.SpecRevision, spec json.RawMessage) side {
	return side{fmt.Sprintf("revision %d", revision.Revision), spec}
}

func presentSide(root *lsv1alpha1.Installation) side {
	text, err := json.Marshal(root.Spec)
	if err != nil {
		panic(err) // It was read from JSON.
	}
	return side{"present spec", text}
}

// compare prints a unified diff of two specs; nothing if they are equal.
func compare(w io.Writer, printer display.Printer, before, after side) error {
	old, err := before.lines()
	if err != nil {
		return err
	}
	changed, err := after.lines()
	if err != nil || slices.Equal(old, changed) {
		return err
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", before.name, after.name)
	diff.Hunks(w, printer, preview.AllLines(old, changed))
	return nil
}

// lines are those of the spec as YAML, with sorted keys.
func (s side) lines() ([]string, error) {
	text, err := yaml.JSONToYAML(shown(s.spec))
	if err != nil {
		return nil, fmt.Errorf("print the %s as YAML: %w", s.name, err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// shown returns a spec as people see it: the user in the URL of a blueprint may be a token.
func shown(spec json.RawMessage) json.RawMessage {
	fields, _ := decode(spec).(map[string]any)
	blueprint, _ := fields["blueprint"].(map[string]any)
	git, _ := blueprint["git"].(map[string]any)
	address, _ := git["url"].(string)
	bare, left := masking.WithoutUser(address)
	if !left {
		return spec
	}
	git["url"] = bare
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err) // It was read from JSON.
	}
	return text
}

// changedFields are the paths of the fields that differ, sorted. Lists count as one field.
func changedFields(before, after json.RawMessage) []string {
	changed := differences("", decode(before), decode(after))
	slices.Sort(changed)
	if changed == nil {
		changed = []string{}
	}
	return changed
}

func decode(text json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil // It was decoded before, when it was unpacked.
	}
	return value
}

func differences(path string, before, after any) []string {
	old, isObject := before.(map[string]any)
	changed, staysObject := after.(map[string]any)
	if !isObject || !staysObject {
		if reflect.DeepEqual(before, after) {
			return nil
		}
		return []string{path}
	}
	var found []string
	fields := maps.Clone(old)
	maps.Copy(fields, changed)
	for field := range fields {
		found = append(found, differences(strings.TrimPrefix(path+"."+field, "."), old[field], changed[field])...)
	}
	return found
}

// maxFields is how many fields a table names.
const maxFields = 3

// summary names changed fields in a table.
func summary(fields []string) string {
	if len(fields) <= maxFields {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(fields[:maxFields], ", "), len(fields)-maxFields)
}
