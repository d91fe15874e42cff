// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Mask replaces a secret.
const Mask = "<masked>"

const (
	// shortest is the minimum length of a secret that is masked within a text. Shorter ones are masked only in quotes or
	// where they stand alone.
	shortest = 4
	// shortestLine is the same for a line of a longer secret.
	shortestLine = 8
)

// Values are the secrets that must not be shown. The zero value contains none.
type Values struct {
	// texts are masked literally and in all their encodings. For those with the value true, long parts are masked, too; the
	// others are documents, whose parts are ordinary words.
	texts map[string]bool
	// patterns are compiled from the texts on demand.
	patterns *patterns
	// unknown is why the values could not be determined.
	unknown error
}

// Unknown returns values that could not be determined. Nothing that may contain them is shown.
func Unknown(why error) *Values { return &Values{unknown: why} }

// Known reports whether the values could be determined.
func (v *Values) Known() bool { return v == nil || v.unknown == nil }

// AddSecret adds the content of a Secret.
func (v *Values) AddSecret(data map[string][]byte) {
	for _, content := range data {
		v.AddText(string(content))
	}
}

// AddText adds the content of one key of a Secret: as a whole, line by line, and every value in it if it is YAML.
func (v *Values) AddText(text string) {
	var value any
	document := false
	if yaml.Unmarshal([]byte(text), &value) == nil {
		v.addLeaves(value)
		_, single := value.(string)
		document = !single
	}
	v.put(text, !document)
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); len(trimmed) >= shortestLine {
			v.put(trimmed, !document)
		}
	}
}

func (v *Values) addLeaves(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			v.addLeaves(inner)
		}
	case []any:
		for _, inner := range value {
			v.addLeaves(inner)
		}
	case string:
		v.add(value)
	case float64:
		if text := numberText(value); len(text) >= shortest {
			v.add(text)
		}
	}
}

// AddTarget adds the secrets in the configuration of a Target.
func (v *Values) AddTarget(target *lsv1alpha1.Target) {
	var config any
	if target == nil || target.Spec.Configuration == nil || target.Spec.Configuration.Decode(&config) != nil {
		return
	}
	v.addConfiguration(config)
}

// AddCredentials adds the secrets in a Secret that describes the connection to a cluster: for kubeconfigs the credentials,
// otherwise everything.
func (v *Values) AddCredentials(data map[string][]byte) {
	for _, content := range data {
		var parsed map[string]any
		if yaml.Unmarshal(content, &parsed) == nil && parsed != nil {
			v.addConfiguration(parsed)
		} else {
			v.AddText(string(content))
		}
	}
}

// plainKeys are the known keys of Targets and kubeconfigs. Except for secretKeys, their values are not secrets: they are
// addresses and names.
var plainKeys = map[string]bool{
	"apiVersion": true, "kind": true, "name": true, "namespace": true, "cluster": true, "user": true, "username": true, "server": true,
	"current-context": true, "certificate-authority-data": true, "client-certificate-data": true, "tls-server-name": true,
	"clusters": true, "users": true, "contexts": true, "context": true, "kubeconfig": true, "preferences": true, "extensions": true,
	"token": true, "password": true, "client-key-data": true, "tokenFile": true, "client-certificate": true, "client-key": true,
	"certificate-authority": true, "insecure-skip-tls-verify": true, "proxy-url": true, "as": true, "as-uid": true, "as-groups": true,
	"as-user-extra": true, "exec": true, "auth-provider": true, "disable-compression": true,
	"oidcConfig": true, "selfConfig": true, "serviceAccount": true, "audience": true, "expirationSeconds": true, "caData": true,
}

var secretKeys = map[string]bool{"token": true, "password": true, "client-key-data": true}

// addConfiguration adds the values of keys that hold credentials, and those of unknown keys together with the keys: they may
// be misplaced values.
func (v *Values) addConfiguration(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			switch {
			case secretKeys[key], !plainKeys[key]:
				v.addLeaves(inner)
			default:
				v.addConfiguration(inner)
			}
			if !plainKeys[key] && len(key) >= shortestLine {
				v.add(key)
			}
		}
	case []any:
		for _, inner := range value {
			v.addConfiguration(inner)
		}
	case string:
		v.addEmbedded(value)
	}
}

// addEmbedded adds a document that is embedded in a configuration as text, such as a kubeconfig.
func (v *Values) addEmbedded(text string) {
	var parsed any
	if yaml.Unmarshal([]byte(text), &parsed) != nil {
		v.AddText(text)
		return
	}
	if fields, ok := parsed.(map[string]any); ok {
		v.put(text, false)
		v.addConfiguration(fields)
	}
}

func numberText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func (v *Values) add(text string) { v.put(text, true) }

func (v *Values) put(text string, inPieces bool) {
	text = strings.TrimSpace(text)
	if slices.Contains([]string{"", "true", "false", "null"}, text) {
		return
	}
	if v.texts == nil {
		v.texts = map[string]bool{}
	}
	v.texts[text] = v.texts[text] || inPieces
	v.patterns = nil
}

// Text returns a text with every secret masked. If the secrets are unknown, the text is left out.
func (v *Values) Text(text string) string {
	switch {
	case v == nil || text == "":
		return text
	case v.unknown != nil:
		return "the error is withheld, because it may contain secrets that cannot be read: " + Words(v.unknown)
	case len(v.texts) == 0:
		return text
	}
	return v.compiled().masked(text)
}

func (v *Values) compiled() *patterns {
	if v.patterns == nil {
		v.patterns = compile(v.texts)
	}
	return v.patterns
}

// Value returns a copy of a JSON value without the secrets, and reports whether there were any.
func (v *Values) Value(value any) (result any, found bool) {
	switch value := value.(type) {
	case map[string]any:
		return v.fields(value)
	case []any:
		copied := make([]any, len(value))
		for i, inner := range value {
			changed := false
			copied[i], changed = v.Value(inner)
			found = found || changed
		}
		return copied, found
	case string:
		return v.string(value)
	case int64, float64:
		if text := numberText(value); len(text) >= shortest && v.has(text) {
			return Mask, true
		}
	}
	return value, false
}

// fieldNames are names of fields that every object has. They are not masked, even if a secret has the same text.
var fieldNames = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "name": true, "namespace": true, "labels": true, "annotations": true, "spec": true,
	"data": true, "stringData": true, "config": true, "type": true, "status": true,
}

// fields masks fields and their names: templates can turn secrets into keys.
func (v *Values) fields(value map[string]any) (result map[string]any, found bool) {
	result = make(map[string]any, len(value))
	for _, key := range slices.Sorted(maps.Keys(value)) {
		inner, changed := v.Value(value[key])
		shown := v.fieldName(key, result)
		result[shown] = inner
		found = found || changed || shown != key
	}
	return result, found
}

// fieldName returns the name under which a field is shown. Several masked names look the same, so they are counted.
func (v *Values) fieldName(key string, others map[string]any) string {
	if fieldNames[key] {
		return key
	}
	masked := v.Text(key)
	if masked == key {
		return key
	}
	shown := masked
	for n := 2; ; n++ {
		if _, taken := others[shown]; !taken {
			return shown
		}
		shown = fmt.Sprintf("%s (%d)", masked, n)
	}
}

// string masks a text that may be a secret as a whole, however short.
func (v *Values) string(text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	if v.has(trimmed) || v.compiled().whole[fold(trimmed)] {
		return Mask, true
	}
	masked := v.Text(text)
	return masked, masked != text
}

func (v *Values) has(text string) bool {
	_, found := v.texts[text]
	return found
}

// All masks every value, and keeps the structure.
func All(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, inner := range value {
			copied[key] = All(inner)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, inner := range value {
			copied[i] = All(inner)
		}
		return copied
	case nil:
		return nil
	}
	return Mask
}
