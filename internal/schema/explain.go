// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain lists the problems of a value, one by one and in a stable order. It says what the schema expects, never what the
// value is: the value may be a secret.
func explain(violation *jsonschema.ValidationError, limit int) []string {
	var problems []string
	gather(violation, &problems)
	slices.Sort(problems)
	problems = slices.Compact(problems)
	if more := len(problems) - limit; more > 0 {
		problems = append(problems[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return problems
}

// gather collects the causes without further causes, and those that need their own description.
func gather(violation *jsonschema.ValidationError, problems *[]string) {
	text := describe(violation.ErrorKind)
	if text != "" {
		*problems = append(*problems, fmt.Sprintf("at %s: %s", place(violation.InstanceLocation), text))
	}
	if _, ok := violation.ErrorKind.(*kind.PropertyNames); ok {
		return // the causes describe the name as if it were the value
	}
	for _, cause := range violation.Causes {
		gather(cause, problems)
	}
}

// place formats the place in the value as a JSON pointer.
func place(tokens []string) string {
	if len(tokens) == 0 {
		return "the top"
	}
	var b strings.Builder
	for _, token := range tokens {
		token = strings.ReplaceAll(strings.ReplaceAll(shorten(token), "~", "~0"), "/", "~1")
		b.WriteString("/" + strings.Trim(strconv.Quote(token), `"`))
	}
	return b.String()
}

// describe returns an empty text for violations that only group others.
func describe(violation jsonschema.ErrorKind) string {
	for _, describer := range []func(jsonschema.ErrorKind) string{
		describeValue, describeNumber, describeText, describeObject, describeList, describeCombination,
	} {
		if text := describer(violation); text != "" {
			return text
		}
	}
	return ""
}

func describeValue(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, found %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return "expected one of " + literals(k.Want)
	case *kind.Const:
		return "expected " + literals([]any{k.Want})
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.InvalidJsonValue:
		return "this is not a JSON value"
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	}
	return ""
}

func describeNumber(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.Minimum:
		return "expected at least " + number(k.Want)
	case *kind.Maximum:
		return "expected at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "expected more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "expected less than " + number(k.Want)
	case *kind.MultipleOf:
		return "expected a multiple of " + number(k.Want)
	}
	return ""
}

func describeText(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %d characters", k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("expected a text that matches %q", shorten(k.Want))
	case *kind.Format:
		return fmt.Sprintf("expected a text of format %s", shorten(k.Want))
	}
	return ""
}

func describeObject(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.Required:
		return "missing " + names(k.Missing)
	case *kind.AdditionalProperties:
		return "not allowed: " + names(k.Properties)
	case *kind.PropertyNames:
		return fmt.Sprintf("the name %q is not allowed", shorten(k.Property))
	case *kind.Dependency:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), shorten(k.Prop))
	case *kind.DependentRequired:
		return fmt.Sprintf("missing %s, which %q needs", names(k.Missing), shorten(k.Prop))
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %d properties", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %d properties", k.Want)
	}
	return ""
}

func describeList(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %d elements", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %d elements", k.Want)
	case *kind.AdditionalItems:
		return fmt.Sprintf("%d elements too many", k.Count)
	case *kind.UniqueItems:
		return fmt.Sprintf("the elements %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "no element matches"
	case *kind.MinContains:
		return fmt.Sprintf("expected at least %d elements of a kind", k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("expected at most %d elements of a kind", k.Want)
	}
	return ""
}

func describeCombination(violation jsonschema.ErrorKind) string {
	switch k := violation.(type) {
	case *kind.Not:
		return "this is excluded by the schema (not)"
	case *kind.AnyOf:
		return "none of the alternatives matches (anyOf)"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "more than one of the alternatives matches (oneOf)"
		}
		return "none of the alternatives matches (oneOf)"
	}
	return ""
}

const maxWords = 80

// shorten shortens a text that comes from a schema or is a name.
func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= maxWords {
		return text
	}
	return string(runes[:maxWords]) + "..."
}

func names(list []string) string {
	quoted := make([]string, 0, len(list))
	for _, name := range slices.Sorted(slices.Values(list)) {
		quoted = append(quoted, strconv.Quote(shorten(name)))
	}
	return strings.Join(cut(quoted), ", ")
}

func literals(list []any) string {
	texts := make([]string, 0, len(list))
	for _, value := range list {
		text, err := json.Marshal(value)
		if err != nil {
			text = []byte("a value")
		}
		texts = append(texts, shorten(string(text)))
	}
	return strings.Join(cut(texts), ", ")
}

func cut(list []string) []string {
	const most = 20
	if len(list) > most {
		return append(list[:most:most], "...")
	}
	return list
}

func number(value *big.Rat) string {
	if value.IsInt() && value.Num().BitLen() < 64 {
		return value.Num().String()
	}
	text, _ := value.Float64()
	return strconv.FormatFloat(text, 'g', -1, 64)
}
