// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/dataflow"
)

// longest is how much of a schema or a default is shown.
const longest = 300

// conversation asks a user in a terminal.
type conversation struct {
	env cli.Environment
	// keyboard is where the user types; nil if that is no terminal, as in tests.
	keyboard *os.File
}

// newConversation returns nil if there is nobody to ask.
func newConversation(env cli.Environment) *conversation {
	if _, _, terminal := env.Size(env.ErrOut); !terminal {
		return nil
	}
	keyboard, isFile := env.In.(*os.File)
	if isFile && !term.IsTerminal(int(keyboard.Fd())) {
		return nil
	}
	return &conversation{env: env, keyboard: keyboard}
}

func (c *conversation) say(format string, args ...any) { fmt.Fprintf(c.env.ErrOut, format, args...) }

// answer is a line that the user has typed.
type answer struct {
	line string
	err  error
}

// read waits for a line. What is typed is not shown if it is secret.
func (c *conversation) read(ctx context.Context, secret bool) (string, error) {
	restore := func() {}
	if c.keyboard != nil {
		if state, err := term.GetState(int(c.keyboard.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(c.keyboard.Fd()), state) }
		}
	}
	answers := make(chan answer, 1)
	go func() {
		if secret && c.keyboard != nil {
			line, err := term.ReadPassword(int(c.keyboard.Fd()))
			answers <- answer{string(line), err}
			return
		}
		line, err := readLine(c.env.In)
		answers <- answer{line, err}
	}()
	select {
	case got := <-answers:
		if secret && c.keyboard != nil {
			c.say("\n") // The one that was typed is not shown, either.
		}
		return got.line, got.err
	case <-ctx.Done():
		restore()
		c.say("\n")
		return "", ctx.Err()
	}
}

// readLine reads no more than one line: what comes after it may be read by other means.
func readLine(from io.Reader) (string, error) {
	var line bytes.Buffer
	one := make([]byte, 1)
	for {
		n, err := from.Read(one)
		if n == 1 && one[0] == '\n' {
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		line.Write(one[:n])
		if err != nil {
			if errors.Is(err, io.EOF) && line.Len() > 0 {
				return line.String(), nil
			}
			return "", err
		}
	}
}

// question asks for the value of an import until there is one that fits, and reports whether the import has a value.
func (s *search) question(ctx context.Context, definition *lsv1alpha1.ImportDefinition) (bool, error) {
	isData := dataflow.TypeOf(&definition.FieldValueDefinition) == lsv1alpha1.ImportTypeData
	secret := isData && confidential(definition)
	s.introduce(definition, isData)
	for {
		s.ask.say("  %s: ", promptFor(definition, secret))
		line, err := s.ask.read(ctx, secret)
		switch {
		case errors.Is(err, io.EOF):
			s.ask.say("\n")
			s.missing = append(s.missing, definition)
			return false, s.lacking()
		case err != nil:
			return false, err
		case line == "" && !definition.IsRequired():
			return hasDefault(definition), nil
		}
		if err = s.take(definition, line); err == nil {
			return true, nil
		}
		s.ask.say("  %s\n", display.Clean(err.Error()))
	}
}

// take keeps the value that somebody has typed for an import.
func (s *search) take(definition *lsv1alpha1.ImportDefinition, line string) error {
	isData := dataflow.TypeOf(&definition.FieldValueDefinition) == lsv1alpha1.ImportTypeData
	switch {
	case line == "" && isData:
		return errors.New(`a value is required; for an empty text, type ""`)
	case isData:
		return s.takeData(definition, text{written: line})
	}
	if s.takeTarget(definition, line) != nil {
		return fmt.Errorf("write %s", promptFor(definition, false))
	}
	return nil
}

func promptFor(definition *lsv1alpha1.ImportDefinition, secret bool) string {
	switch {
	case dataflow.TypeOf(&definition.FieldValueDefinition) != lsv1alpha1.ImportTypeData:
		return targetForm(definition)
	case secret:
		return "value (not shown)"
	}
	return "value"
}

// introduce shows what an import is.
func (s *search) introduce(definition *lsv1alpha1.ImportDefinition, isData bool) {
	s.ask.say("%s: %s\n", display.Clean(definition.Name), describe(definition))
	if description := descriptionOf(definition); description != "" {
		s.ask.say("  %s\n", description)
	}
	if isData && definition.Schema != nil {
		s.ask.say("  schema: %s\n", brief(definition.Schema.Raw))
	}
	if !isData {
		if names := s.candidates(dataflow.TargetTypeOf(&definition.FieldValueDefinition)); len(names) > 0 {
			s.ask.say("  Targets in this namespace: %s\n", list(names))
		}
	}
}

// describe says in a few words what an import is.
func describe(definition *lsv1alpha1.ImportDefinition) string {
	kind := dataflow.TypeOf(&definition.FieldValueDefinition)
	words := []string{string(kind)}
	if kind != lsv1alpha1.ImportTypeData && definition.TargetType != "" {
		words[0] += " of type " + display.Clean(dataflow.TargetTypeOf(&definition.FieldValueDefinition))
	}
	if kind == lsv1alpha1.ImportTypeData {
		if named := typeIn(definition); named != "" {
			words[0] += " of type " + named
		}
	}
	if !definition.IsRequired() {
		words = append(words, "optional")
	}
	if hasDefault(definition) {
		words = append(words, "default "+brief(definition.Default.Value.Raw))
	}
	return list(words)
}

func typeIn(definition *lsv1alpha1.ImportDefinition) string {
	var schema struct {
		Type string `json:"type"`
	}
	if definition.Schema == nil || json.Unmarshal(definition.Schema.Raw, &schema) != nil {
		return ""
	}
	return display.Clean(schema.Type)
}

func descriptionOf(definition *lsv1alpha1.ImportDefinition) string {
	var schema struct {
		Description string `json:"description"`
	}
	if definition.Schema == nil || json.Unmarshal(definition.Schema.Raw, &schema) != nil {
		return ""
	}
	return display.Summary(schema.Description)
}

// brief is JSON in one line, as far as it fits.
func brief(raw []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return ""
	}
	shown := []rune(display.Clean(compact.String()))
	if len(shown) > longest {
		return string(shown[:longest-1]) + "…"
	}
	return string(shown)
}
