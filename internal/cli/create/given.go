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

// given is what flags say about imports.
type given struct {
	imports, secrets, targets []string

	// values are the texts of data imports, by name.
	values map[string]text
	// targetNames are the texts of target imports, by name.
	targetNames map[string]string
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
	flags.StringArrayVar(&g.targets, "target", nil,
		"Target for an import: NAME=TARGET, for a list NAME=TARGET,TARGET, for a map NAME=KEY:TARGET,KEY:TARGET; may be repeated")
}

// parse takes the flags apart.
func (g *given) parse() error {
	g.values, g.targetNames = map[string]text{}, map[string]string{}
	for _, each := range []struct {
		flag    string
		entries []string
	}{{"--import", g.imports}, {"--secret", g.secrets}, {"--target", g.targets}} {
		for i, entry := range each.entries {
			name, value, found := strings.Cut(entry, "=")
			if !found || name == "" {
				// By mistake it may be nothing but a value.
				return fmt.Errorf("%s number %d is not of the form NAME=VALUE", each.flag, i+1)
			}
			if g.has(name) {
				return fmt.Errorf("import %s is given twice: keep the value that is meant", name)
			}
			if each.flag == "--target" {
				g.targetNames[name] = value
			} else {
				g.values[name] = text{flag: each.flag, written: value, secret: each.flag == "--secret"}
			}
		}
	}
	return nil
}

func (g *given) has(name string) bool {
	_, data := g.values[name]
	_, target := g.targetNames[name]
	return data || target
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
