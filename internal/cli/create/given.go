// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/yaml"

	"espalier.dev/internal/cli"
)

// given is what flags say about imports and exports.
type given struct {
	imports, secrets, data, targets, exports []string

	// values are the texts of data imports, by name.
	values map[string]text
	// dataObjects are the DataObjects that data imports refer to, by the name of the import.
	dataObjects map[string]string
	// targetNames are the texts of target imports, by name.
	targetNames map[string]string
	// exported are the objects that get exports, by the name of the export.
	exported map[string]string
	// stdin says that standard input has been read.
	stdin bool
}

// text is what a user has written for an import.
type text struct {
	flag, written string
	secret        bool
}

func (g *given) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&g.imports, "import", nil, "value of a data import: NAME=VALUE, or NAME=@FILE; may be repeated")
	flags.StringArrayVar(&g.secrets, "secret", nil, "the same for a value that goes into a Secret; may be repeated")
	flags.StringArrayVar(&g.data, "data", nil, "DataObject that a data import takes its value from: NAME=DATAOBJECT; may be repeated")
	flags.StringArrayVar(&g.targets, "target", nil,
		"Target for an import: NAME=TARGET, for a list NAME=TARGET,TARGET, for a map NAME=KEY:TARGET,KEY:TARGET; may be repeated")
	flags.StringArrayVar(&g.exports, "export", nil, "DataObject or Target that gets an export: NAME=OBJECT; may be repeated")
}

// parse takes the flags apart.
func (g *given) parse() error {
	g.values, g.dataObjects, g.targetNames, g.exported = map[string]text{}, map[string]string{}, map[string]string{}, map[string]string{}
	for _, each := range []struct {
		flag, form string
		entries    []string
		take       func(name, value string) error
	}{
		{"--import", "VALUE", g.imports, g.value("--import", false)},
		{"--secret", "VALUE", g.secrets, g.value("--secret", true)},
		{"--data", "DATAOBJECT", g.data, g.reference("--data", g.dataObjects)},
		{"--target", "TARGET", g.targets, g.once(func(name, value string) { g.targetNames[name] = value })},
		{"--export", "OBJECT", g.exports, g.export},
	} {
		for i, entry := range each.entries {
			name, value, found := strings.Cut(entry, "=")
			if !found || name == "" {
				// By mistake it may be nothing but a value.
				return fmt.Errorf("%s number %d is not of the form NAME=%s", each.flag, i+1, each.form)
			}
			if err := each.take(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// once takes an import that is not given otherwise.
func (g *given) once(take func(name, value string)) func(name, value string) error {
	return func(name, value string) error {
		if g.has(name) {
			return fmt.Errorf("import %s is given twice: keep the value that is meant", name)
		}
		take(name, value)
		return nil
	}
}

func (g *given) value(flag string, secret bool) func(name, value string) error {
	return g.once(func(name, value string) { g.values[name] = text{flag: flag, written: value, secret: secret} })
}

// reference takes the name of an object.
func (g *given) reference(flag string, into map[string]string) func(name, value string) error {
	take := g.once(func(name, value string) { into[name] = value })
	return func(name, value string) error {
		if !canRefer(value) {
			return fmt.Errorf("%s %s: %q does not name a DataObject", flag, name, value)
		}
		return take(name, value)
	}
}

// export takes the name of the object that gets an export.
func (g *given) export(name, object string) error {
	switch _, twice := g.exported[name]; {
	case twice:
		return fmt.Errorf("export %s is given twice: keep the name that is meant", name)
	case !canRefer(object):
		return fmt.Errorf("--export %s: %q does not name a DataObject or Target", name, object)
	}
	g.exported[name] = object
	return nil
}

// canRefer reports whether a text can refer to an object: what others export need not have the name of one.
func canRefer(text string) bool { return text != "" && !strings.ContainsAny(text, " \t\n") }

func (g *given) has(name string) bool {
	_, value := g.values[name]
	_, data := g.dataObjects[name]
	_, target := g.targetNames[name]
	return value || data || target
}

// content is what a user means by a text: itself, or with @ the content of a file.
func (g *given) content(env cli.Environment, written string) (string, error) {
	file, isFile := strings.CutPrefix(written, "@")
	if !isFile {
		return written, nil
	}
	if file != "-" {
		content, err := os.ReadFile(file)
		return string(content), err
	}
	if g.stdin {
		return "", errors.New("standard input can be read only once")
	}
	g.stdin = true
	content, err := io.ReadAll(env.In)
	return string(content), err
}

// meanings are the values that a text can have, the likelier first: a quoted text without its quotes, YAML and JSON as what they
// describe, and every text as it stands.
func meanings(text string) []any {
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil && strings.HasPrefix(strings.TrimSpace(text), `"`) {
		return []any{quoted, text}
	}
	var value any
	if strings.TrimSpace(text) == "" || yaml.Unmarshal([]byte(text), &value) != nil {
		return []any{text}
	}
	if _, isText := value.(string); isText {
		return []any{text} // YAML would fold its lines.
	}
	return []any{value, text}
}
