// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/schema"
)

// repeat joins n texts, each of which may contain its number.
func repeat(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

func TestLimitsOfSchemas(t *testing.T) {
	limits := schema.Limits{
		DocumentBytes: 900, Bytes: 1500, Documents: 3, Nodes: 60, Depth: 10, ReferenceHops: 4, PatternBytes: 20,
		Steps: 100, StepsPerValue: 10, Problems: 3,
	}
	filler := func(n int) []byte { return []byte(`{"title":"` + strings.Repeat("x", n) + `"}`) }
	sources := schema.Sources{LocalTypes: map[string][]byte{
		"big": filler(880), "half": filler(700), "small": []byte(`{}`), "a": []byte(`{}`), "b": []byte(`{}`), "c": []byte(`{}`),
	}}
	for name, c := range map[string]struct{ within, beyond, want string }{
		"size":                 {string(filler(880)), string(filler(900)), "it has more than 900 bytes"},
		"size of all":          {`{"items":[{"$ref":"local://half"}]}`, `{"items":[{"$ref":"local://half"},{"$ref":"local://big"}]}`, "local://big: it has more than 1500 bytes together with what it refers to"},
		"number of schemas":    {`{"items":[{"$ref":"local://a"},{"$ref":"local://b"}]}`, `{"items":[{"$ref":"local://a"},{"$ref":"local://b"},{"$ref":"local://c"}]}`, "it refers to more than 3 schemas, directly or not, itself included"},
		"depth":                {strings.Repeat(`{"not":`, 10) + `{}` + strings.Repeat(`}`, 10), strings.Repeat(`{"not":`, 11) + `{}` + strings.Repeat(`}`, 11), "it is nested more than 10 levels deep"},
		"depth of data":        {`{"const":` + strings.Repeat(`[`, 10) + strings.Repeat(`]`, 10) + `}`, `{"const":` + strings.Repeat(`[`, 11) + strings.Repeat(`]`, 11) + `}`, "it is nested more than 10 levels deep"},
		"objects":              {`{"allOf":[` + repeat(58, "{}") + `]}`, `{"allOf":[` + repeat(59, "{}") + `]}`, "it has more than 60 objects and lists together with what it refers to"},
		"hops":                 {chain(4), chain(5), `the reference to "#/$defs/h0" leads from reference to reference without end`},
		"regular expressions":  {`{"pattern":"` + strings.Repeat("a", 20) + `"}`, `{"pattern":"` + strings.Repeat("a", 21) + `"}`, "at /pattern: expected a text of format regex"},
		"pattern of a name":    {`{"patternProperties":{"` + strings.Repeat("a", 20) + `":{}}}`, `{"patternProperties":{"` + strings.Repeat("a", 21) + `":{}}}`, ""},
		"expression too large": {`{"pattern":"a{1000}"}`, `{"pattern":"a{1001}"}`, "at /pattern: expected a text of format regex"},
	} {
		t.Run(name, func(t *testing.T) {
			compiler := schema.NewCompiler(limits, 0)
			if _, err := compiler.Compile("x", []byte(c.within), sources); err != nil {
				t.Errorf("within the limit: %v", err)
			}
			_, err := compiler.Compile("x", []byte(c.beyond), sources)
			if err == nil {
				t.Fatal("beyond the limit there is no error")
			}
			if !strings.HasSuffix(err.Error(), c.want) || failure.KindOf(err) != failure.Terminal {
				t.Errorf("error = %v (%v), want %q", err, failure.KindOf(err), c.want)
			}
		})
	}
}

// chain is a schema with a chain of n references.
func chain(n int) string {
	var types []string
	for i := range n - 1 {
		types = append(types, fmt.Sprintf(`"h%d":{"$ref":"#/$defs/h%d"}`, i, i+1))
	}
	types = append(types, fmt.Sprintf(`"h%d":{}`, n-1))
	return `{"$ref":"#/$defs/h0","$defs":{` + strings.Join(types, ",") + `}}`
}

// doubling has n types, each of which combines the next one with itself.
func doubling(n int, combine, draft string) string {
	var types []string
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/definitions/d%d"}`, i+1)
		types = append(types, fmt.Sprintf(`"d%d":{"%s":[%s,%s]}`, i, combine, next, next))
	}
	types = append(types, fmt.Sprintf(`"d%d":{"type":"string"}`, n))
	return fmt.Sprintf(
		`{"$schema":"http://json-schema.org/%s/schema#","$ref":"#/definitions/d0","definitions":{%s}}`,
		draft,
		strings.Join(types, ","),
	)
}

func TestShortSchemasCannotDemandExponentialWork(t *testing.T) {
	for name, text := range map[string]string{
		"allOf":            doubling(40, "allOf", "draft/2019-09"),
		"anyOf":            doubling(40, "anyOf", "draft/2019-09"),
		"oneOf":            doubling(40, "oneOf", "draft/2019-09"),
		"allOf in draft 4": doubling(40, "allOf", "draft-04"),
		"anyOf in draft 7": doubling(40, "anyOf", "draft-07"),
		"excluded":         strings.Replace(doubling(40, "anyOf", "draft/2019-09"), `"$ref":"#/definitions/d0"`, `"not":{"$ref":"#/definitions/d0"}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			limits := schema.DefaultLimits()
			limits.Steps /= 10
			err := schema.NewCompiler(limits, 0).Validate("x", []byte(text), schema.Sources{}, 1.0)
			if err == nil || !strings.Contains(err.Error(), "too many steps") || failure.KindOf(err) != failure.Terminal {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDeepDataCannotDemandExponentialWork(t *testing.T) {
	both := `{"properties":{"a":{"$ref":"#"}}}`
	text := `{"anyOf":[` + both + `,` + both + `],"type":"object"}`
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	if got := check(t, text, schema.Sources{}, deep); !strings.Contains(got, "too many steps") {
		t.Errorf("got %q", got)
	}
}

func TestExpensiveExpressionsArePaidFor(t *testing.T) {
	text := `{"items":{"pattern":"^(([a-z]{1,20}){1,20}|x{900})*$"}}`
	long := `"` + strings.Repeat("ab", 200_000) + `"`
	if got := check(t, text, schema.Sources{}, `[`+long+`]`); !strings.Contains(got, "too many steps") {
		t.Errorf("got %q", got)
	}
	if got := check(t, text, schema.Sources{}, `["abc"]`); got != "" {
		t.Errorf("a short text: %s", got)
	}
}

func TestLargeHonestDataIsChecked(t *testing.T) {
	text := `{"type":"array","items":{"$ref":"#/$defs/server"},"$defs":{
		"name":{"type":"string","pattern":"^[a-z][a-z0-9-]{0,62}$"},
		"port":{"oneOf":[{"type":"integer","minimum":1,"maximum":65535},{"$ref":"#/$defs/name"}]},
		"server":{"type":"object","required":["name","ports"],"additionalProperties":false,"properties":{
			"name":{"$ref":"#/$defs/name"},"ports":{"type":"object","additionalProperties":{"$ref":"#/$defs/port"}}}}}}`
	value := `[` + repeat(5000, `{"name":"server-%d","ports":{"http":80,"grpc":"named","admin":8080}}`) + `]`
	if got := check(t, text, schema.Sources{}, value); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestManyUnusualReferencesAreRejected(t *testing.T) {
	for name, text := range map[string]string{
		"unusual places":      `{"allOf":[` + repeat(101, `{"$ref":"#/types/t%d"}`) + `],"types":{` + repeat(101, `"t%d":{}`) + `}}`,
		"anchors":             `{"allOf":[` + repeat(101, `{"$ref":"#t%d"}`) + `],"$defs":{` + repeat(101, `"t%d":{"$anchor":"t%d"}`) + `}}`,
		"$defs before 2019":   `{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[` + repeat(101, `{"$ref":"#/$defs/t%d"}`) + `],"$defs":{` + repeat(101, `"t%d":{}`) + `}}`,
		"dynamic references":  `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[` + repeat(101, `{"$dynamicRef":"#t"}`) + `],"$defs":{"t":{"$dynamicAnchor":"t"}}}`,
		"nested identifiers":  `{"allOf":[` + repeat(101, `{"$ref":"#/$defs/t%d"}`) + `],"$defs":{` + repeat(101, `"t%d":{"$id":"https://example.com/t%d"}`) + `}}`,
		"relative identifier": `{"$id":"https://example.com/x","allOf":[` + repeat(101, `{"$ref":"x#/$defs/t%d"}`) + `],"$defs":{` + repeat(101, `"t%d":{}`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, text, schema.Sources{}, `1`); !strings.Contains(got, "more than 100 references") {
				t.Errorf("got %q", got)
			}
		})
	}
	usual := `{"allOf":[` + repeat(300, `{"$ref":"#/$defs/t%d"}`) + `],"$defs":{` + repeat(300, `"t%d":{}`) + `}}`
	if got := check(t, usual, schema.Sources{}, `1`); got != "" {
		t.Errorf("300 usual references: %s", got)
	}
}
