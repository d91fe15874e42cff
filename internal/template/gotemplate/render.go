// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"espalier.dev/internal/template"
)

// noValue is what text/template writes for a missing value.
const noValue = "<no value>"

// Input is the input of a rendering.
type Input struct {
	// Bindings are the values that the template sees below the dot. They are not modified.
	Bindings map[string]any
	// Functions are added to those of the engine, and may replace them. They take and return plain values. An error that is
	// a template.Problem is shown to the user; the text of any other error is not.
	Functions map[string]any
	// Files are the files of the blueprint; nil means none.
	Files fs.FS
	// Entropy is the entropy for generated values; nil if there is no state.
	Entropy *template.Entropy
	// Generated is called with every generated text, and the name of the function.
	Generated func(function, text string)
	// AllowNoValue writes "<no value>" for missing values instead of failing.
	AllowNoValue bool
	// Known are additional names that the bindings, or maps in them, may contain, keyed by the name of the map; the empty
	// key is for the bindings. In a listed map, looking up a name that is neither present nor known is an error instead of
	// yielding no value. Functions such as index, get and hasKey are not restricted.
	Known map[string][]string
}

// run is one rendering.
type run struct {
	template *Template
	input    Input
	meter    *template.Meter
	files    template.Files
	compiled *gotemplate.Template
	closed   map[uintptr]closedMap
	// missing is the place of the first missing value.
	missing *parse.Pos
}

// Render returns the output of the template. The error is terminal and contains a *template.Error.
func (t *Template) Render(input Input) (string, error) {
	bindings, err := template.PlainMap(input.Bindings, t.limits)
	if err != nil {
		return "", template.NewError(t.source, template.Place{}, "", err).WithInput(input.Bindings).Terminal()
	}
	meter := template.NewMeter(t.limits)
	r := &run{
		template: t,
		input:    input,
		meter:    meter,
		files:    template.NewFiles(input.Files, meter),
		closed:   closedMaps(bindings, input.Known),
	}
	output, err := r.execute(bindings)
	if err != nil {
		return "", r.explain(err).WithInput(input.Bindings).Terminal()
	}
	return output, nil
}

// RenderYAML returns the output of the template as the plain value that it describes.
func (t *Template) RenderYAML(input Input) (any, error) {
	output, err := t.Render(input)
	if err != nil {
		return nil, err
	}
	value, err := template.DecodeYAML(output, t.limits)
	if err != nil {
		message := "the output of the template is not usable: " + template.Explain(err)
		return nil, template.NewError(t.source, template.Place{}, message, err).WithInput(input.Bindings).Terminal()
	}
	return value, nil
}

func (r *run) execute(bindings map[string]any) (output string, err error) {
	functions, err := r.functions()
	if err != nil {
		return "", err
	}
	r.compiled = gotemplate.New(mainName).Option("missingkey=zero").Funcs(functions)
	for name, tree := range r.template.trees {
		if _, err := r.compiled.AddParseTree(name, tree); err != nil {
			return "", err
		}
	}
	// text/template turns the panics of functions into errors. Any other panic is a bug in text/template.
	defer func() {
		if recover() != nil {
			output, err = "", template.Problemf("the template engine failed")
		}
	}()
	w := &limitedWriter{meter: r.meter}
	if err := r.compiled.ExecuteTemplate(w, mainName, bindings); err != nil {
		return "", err
	}
	return w.text.String(), r.checkValues(w.text.Bytes())
}

// checkValues fails if a value was missing, even if only the text of the output shows it.
func (r *run) checkValues(output []byte) error {
	if r.input.AllowNoValue || r.missing == nil && !bytes.Contains(output, []byte(noValue)) {
		return nil
	}
	return errNoValue
}

var errNoValue = template.Problemf("there is no value here: the output would contain %q", noValue)

// limitedWriter buffers the output and fails as soon as it is too long.
type limitedWriter struct {
	meter *template.Meter
	text  bytes.Buffer
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if err := w.meter.Output(w.text.Len() + len(p)); err != nil {
		return 0, err
	}
	return w.text.Write(p)
}

// write is called with every value before it is written.
func (r *run) write(place int, value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, r.meter.Read(int64(len(v)))
	case nil:
		return noValue, r.noteMissing(place)
	case float64:
		return template.FormatFloat(v), nil
	}
	if err := r.meter.Measure(value); err != nil {
		return "", err
	}
	return format(value), nil
}

// noteMissing fails at the first missing value, so that the error can name it.
func (r *run) noteMissing(place int) error {
	if r.input.AllowNoValue {
		return nil
	}
	pos := r.template.values[place]
	r.missing = &pos
	return errNoValue
}

// include renders one of the templates that the text defines to a string.
func (r *run) include(name string, data any) (string, error) {
	if r.compiled.Lookup(name) == nil {
		return "", template.Problemf("there is no template with this name; the template defines %s", strings.Join(r.defined(), ", "))
	}
	w := &limitedWriter{meter: r.meter}
	if err := r.compiled.ExecuteTemplate(w, name, data); err != nil {
		return "", err
	}
	return w.text.String(), r.meter.Build(int64(w.text.Len()))
}

// defined returns the names of the templates that the text defines.
func (r *run) defined() []string {
	var names []string
	for name := range r.template.trees {
		if name != mainName {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	slices.Sort(names)
	return names
}
