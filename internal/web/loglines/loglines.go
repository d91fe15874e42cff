// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package loglines reads what the controllers log: in JSON or console format, with the objects that a line is about.
package loglines

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ControllersLabel selects the pods of the controllers. The chart and the Kustomizations set it.
const ControllersLabel = "app.kubernetes.io/name=espalier-controller"

// MaxText is the maximum length of the text of a line.
const MaxText = 2000

// Kinds are the keys under which controllers log the object that a line is about, the most specific first.
var Kinds = []string{"DeployItem", "Execution", "Installation"}

// Line is a line about objects.
type Line struct {
	// Time is zero if the line has none.
	Time time.Time
	// Level is info, error or debug.
	Level string
	// Text is the message, then the error and the other values.
	Text string
	// About are the objects that it names, by kind.
	About map[string]types.NamespacedName
}

// Parse reads a line; false if it is about no object.
func Parse(text string) (Line, bool) {
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return Line{}, false
	}
	var fields map[string]any
	if json.Unmarshal([]byte(text[start:]), &fields) != nil {
		return Line{}, false
	}
	about := map[string]types.NamespacedName{}
	for _, kind := range Kinds {
		if object := NamedBy(fields[kind]); object.Name != "" {
			about[kind] = object
		}
	}
	if len(about) == 0 {
		return Line{}, false
	}
	for i, part := range strings.Split(strings.TrimSpace(text[:start]), "\t") { // Lines in console format start with time, level and message.
		switch {
		case i == 0 && part != "":
			fields["time"] = part
		case i == 1:
			fields["level"] = strings.ToLower(part)
		case part != "":
			fields["msg"] = part
		}
	}
	line := lineOf(fields)
	line.About = about
	return line, true
}

// lineOf converts the fields of a JSON line.
func lineOf(fields map[string]any) Line {
	said := func(key string) string {
		text, _ := fields[key].(string)
		return text
	}
	line := Line{Level: "info", Text: said("msg")}
	if level := said("level"); level == "error" || level == "debug" {
		line.Level = level
	}
	if at, err := time.Parse(time.RFC3339Nano, said("time")); err == nil {
		line.Time = at.UTC()
	}
	if failed := said("error"); failed != "" {
		line.Text += ": " + failed
	}
	for _, key := range []string{"time", "level", "msg", "error", "logger", "stacktrace"} {
		delete(fields, key)
	}
	var rest []string
	for key, value := range fields {
		if !OfEveryLine(key) {
			rest = append(rest, fmt.Sprintf(" %s=%s", key, Plain(value)))
		}
	}
	slices.Sort(rest)
	line.Text = Shortened(line.Text + strings.Join(rest, ""))
	return line
}

// ofEveryLine are the keys that controller-runtime adds to all lines.
var ofEveryLine = []string{"namespace", "name", "kind", "controller", "controllerGroup", "controllerKind", "reconcileID"}

// OfEveryLine reports whether a key adds nothing about the object of a line.
func OfEveryLine(key string) bool {
	return slices.Contains(ofEveryLine, key) || slices.Contains(Kinds, key)
}

// NamedBy returns the object that a logged value names, in the form of klog.KObj or its JSON.
func NamedBy(value any) types.NamespacedName {
	text, err := json.Marshal(value)
	var named struct{ Namespace, Name string }
	if err != nil || json.Unmarshal(text, &named) != nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: named.Namespace, Name: named.Name}
}

// Plain is a logged value as text.
func Plain(value any) string {
	switch v := value.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case fmt.Stringer:
		return v.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.Trim(string(text), "\"")
}

// Shortened is a text of bearable length.
func Shortened(text string) string {
	if len(text) > MaxText {
		return strings.ToValidUTF8(text[:MaxText], "") + " ..."
	}
	return text
}
