// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/cli/plain"
)

// failure is an error for programs.
type failure struct {
	Error string `json:"error"`
	// Reason is a word for it, if there is one: that of the API server, or of the object that has failed.
	Reason string   `json:"reason,omitempty"`
	Where  string   `json:"where,omitempty"`
	Next   []string `json:"next,omitempty"`
	// Reference is the place in the documentation that explains it.
	Reference string `json:"reference,omitempty"`
	// Code is the exit code.
	Code int `json:"code"`
	// Errors are set if there are several.
	Errors []failure `json:"errors,omitempty"`
}

// failureOf takes an error apart. What others have written around a problem stays in the text.
func failureOf(err error, code int) failure {
	var problem *Problem
	var wrong *misuse
	f := failure{Error: err.Error()}
	switch {
	case errors.As(err, &problem):
		f = problem.failure()
		f.Error = strings.Replace(err.Error(), problem.Error(), f.Error, 1)
	case errors.As(err, &wrong):
		f.Error = strings.Replace(err.Error(), wrong.Error(), wrong.err.Error(), 1)
		f.Next = []string{wrong.help()}
	}
	f.Error, f.Code = plain.Lines(f.Error), code
	return f
}

func (p *Problem) failure() failure {
	f := failure{
		Error: plain.Lines(p.What), Where: plain.Lines(p.Where), Code: p.Code,
		Reason: cmp.Or(p.Reason, string(apierrors.ReasonForError(p.Cause))), Reference: p.See,
	}
	for _, next := range p.Next {
		f.Next = append(f.Next, plain.Lines(next))
	}
	var texts []string
	for _, one := range p.several {
		f.Errors = append(f.Errors, one.failure())
		texts = append(texts, f.Errors[len(f.Errors)-1].Error)
	}
	if len(texts) > 0 {
		f.Error = strings.Join(texts, "; ")
	}
	return f
}

// writer writes an error in the format that the user has chosen for data.
type writer func(io.Writer, failure) error

// writerFor returns nil for a command that prints its errors for people.
func writerFor(command *cobra.Command) writer {
	flag := command.Flags().Lookup("output")
	if flag == nil || !flag.Changed {
		return nil
	}
	return map[string]writer{"json": writeJSON, "yaml": writeYAML}[flag.Value.String()]
}

// writeJSON writes one line, so that programs find it behind reports of progress.
func writeJSON(w io.Writer, f failure) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return err
	}
	_, err := w.Write(line.Bytes())
	return err
}

func writeYAML(w io.Writer, f failure) error {
	text, err := yaml.Marshal(f)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
