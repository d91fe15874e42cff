// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/schema"
)

func newCompiler() *schema.Compiler {
	return schema.NewCompiler(schema.DefaultLimits(), schema.DefaultCacheBytes)
}

func decode(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return value
}

// check validates a value, both given as JSON, and returns the error's text.
func check(t *testing.T, text string, sources schema.Sources, value string) string {
	t.Helper()
	err := newCompiler().Validate(`import "config"`, []byte(text), sources, decode(t, value))
	if err == nil {
		return ""
	}
	if failure.KindOf(err) != failure.Terminal {
		t.Errorf("%v: a retry cannot help, yet the error is not terminal", err)
	}
	details := failure.DetailsOf(err)
	if details.Operation == "" || !slices.Equal(details.Codes, []string{"ERR_CONFIGURATION_PROBLEM"}) {
		t.Errorf("details = %+v", details)
	}
	return err.Error()
}

func expectProblem(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

const mismatch = `the value of import "config" does not match its schema: `

func TestProblemsNamePlaceAndExpectation(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, want string }{
		"type":                  {`{"type":"string"}`, `7`, "at the top: expected string, found number"},
		"several types":         {`{"type":["string","null"]}`, `7`, "at the top: expected null or string, found number"},
		"integer":               {`{"type":"integer"}`, `7.5`, "at the top: expected integer, found number"},
		"an integer as a float": {`{"type":"integer"}`, `7.0`, ""},
		"deep inside":           {`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "at /a/1: expected string, found number"},
		"slashes and tildes":    {`{"properties":{"a/b~":{"type":"string"}}}`, `{"a/b~":1}`, "at /a~1b~0: expected string, found number"},
		"required":              {`{"required":["b","a","c"]}`, `{"c":1}`, `at the top: missing "a", "b"`},
		"additional":            {`{"additionalProperties":false}`, `{"y":1,"x":2}`, `at the top: not allowed: "x", "y"`},
		"enum":                  {`{"enum":["a",1,null,{"b":2}]}`, `"z"`, `at the top: expected one of "a", 1, null, {"b":2}`},
		"const":                 {`{"const":"a"}`, `"b"`, `at the top: expected "a"`},
		"numbers": {`{"items":[{"minimum":3},{"maximum":3},{"exclusiveMinimum":3},{"exclusiveMaximum":3.5},{"multipleOf":2}]}`, `[1,5,3,4,3]`,
			"at /0: expected at least 3; at /1: expected at most 3; at /2: expected more than 3; at /3: expected less than 3.5; at /4: expected a multiple of 2"},
		"texts": {`{"items":[{"minLength":3},{"maxLength":1},{"pattern":"^a+$"},{"format":"ipv4"}]}`, `["a","bb","b","c"]`,
			`at /0: expected at least 3 characters; at /1: expected at most 1 characters; at /2: expected a text that matches "^a+$"; at /3: expected a text of format ipv4`},
		"lists": {`{"items":[{"minItems":2},{"maxItems":0},{"uniqueItems":true},{"contains":{"type":"string"}}]}`, `[[1],[1],[1,2,1],[1]]`,
			"at /0: expected at least 2 elements; at /1: expected at most 0 elements; at /2: the elements 0 and 2 are equal; at /3/0: expected string, found number; at /3: no element matches"},
		"additional items": {`{"items":[{"type":"string"}],"additionalItems":false}`, `["a",1,2]`, "at the top: 2 elements too many"},
		"objects": {`{"items":[{"minProperties":2},{"maxProperties":0},{"dependentRequired":{"a":["b"]}},{"dependencies":{"a":["b"]}},{"propertyNames":{"maxLength":1}}]}`,
			`[{},{"a":1},{"a":1},{"a":1},{"ab":1}]`,
			`at /0: expected at least 2 properties; at /1: expected at most 0 properties; at /2: missing "b", which "a" needs; at /3: missing "b", which "a" needs; at /4: the name "ab" is not allowed`},
		"not":                 {`{"not":{"type":"string"}}`, `"a"`, "at the top: this is excluded by the schema (not)"},
		"anyOf":               {`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "at the top: expected null, found number; at the top: expected string, found number; at the top: none of the alternatives matches (anyOf)"},
		"oneOf, two":          {`{"oneOf":[{"type":"string"},{"minLength":1}]}`, `"a"`, "at the top: more than one of the alternatives matches (oneOf)"},
		"false":               {`{"properties":{"a":false}}`, `{"a":1}`, "at /a: nothing is allowed here"},
		"the schema is false": {`false`, `1`, "at the top: nothing is allowed here"},
		"the schema is true":  {`true`, `1`, ""},
		"empty schema":        {`{}`, `{"a":[1]}`, ""},
		"unknown keywords":    {`{"nullable":true,"x-order":3}`, `1`, ""},
		"if then else":        {`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `at the top: missing "b"`},
		"minContains":         {`{"contains":{"type":"string"},"minContains":2}`, `["a"]`, "at the top: expected at least 2 elements of a kind"},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = mismatch + want
			}
			expectProblem(t, check(t, c.schema, schema.Sources{}, c.value), want)
		})
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	got := check(t, `{"items":{"type":"string"}}`, schema.Sources{}, `[1,2,3,4,5,6,7,8,9,10,11,12,13]`)
	if !strings.HasSuffix(got, "; and 3 more") || strings.Count(got, "expected string") != 10 {
		t.Errorf("got %s", got)
	}
}

func TestInvalidSchemas(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"not JSON":          {`{"type":`, "it is not JSON: unexpected EOF"},
		"a syntax error":    {`{"type" "string"}`, "it is not JSON: invalid character '\"' after object key at byte 9"},
		"two values":        {`{} {}`, "it is not JSON: unexpected text after the value"},
		"a list":            {`[]`, "a schema is an object, true or false"},
		"nothing":           {``, "it is not JSON: EOF"},
		"an unknown type":   {`{"type":"text"}`, `at /type: expected array, found string; at /type: expected one of "array", "boolean", "integer", "null", "number", "object", "string"; at /type: none of the alternatives matches (anyOf)`},
		"a wrong keyword":   {`{"properties":{"a":{"minLength":-1}}}`, "at /properties/a/minLength: expected at least 0"},
		"a bad expression":  {`{"pattern":"("}`, "at /pattern: expected a text of format regex"},
		"a bad allOf":       {`{"allOf":{},"format":"ipv4"}`, "at /allOf: expected array, found object"},
		"unknown version":   {`{"$schema":"https://example.com/draft"}`, `the version "https://example.com/draft" of JSON Schema is unknown: use, for example, https://json-schema.org/draft/2019-09/schema, or leave it out`},
		"a remote schema":   {`{"$ref":"https://example.com/schema.json"}`, `it refers to "https://example.com/schema.json", which cannot be loaded: use local://, blueprint:// or cd://`},
		"a file":            {`{"$ref":"file:///etc/passwd"}`, `it refers to "file:///etc/passwd", which cannot be loaded: use local://, blueprint:// or cd://`},
		"a relative one":    {`{"$ref":"other.json"}`, `it refers to "other.json", which cannot be loaded: use local://, blueprint:// or cd://`},
		"JSON Schema's own": {`{"$ref":"http://json-schema.org/draft-07/schema#"}`, `it refers to "http://json-schema.org/draft-07/schema#": schemas of JSON Schema itself are not available`},
		"itself":            {`{"$ref":"#"}`, `the reference to "#" leads from reference to reference without end`},
		"in a circle":       {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `the reference to "#/$defs/a" leads from reference to reference without end`},
		"nowhere":           {`{"$ref":"#/$defs/a"}`, `json-pointer in "the schema#/$defs/a" not found`},
		"an old anchor":     {`{"$ref":"#nowhere"}`, `anchor in "the schema#nowhere" not found in schema "the schema"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(t, c.schema, schema.Sources{}, `1`)
			expectProblem(t, got, `the schema of import "config" is invalid: `+c.want)
		})
	}
}

func TestDrafts(t *testing.T) {
	for name, c := range map[string]struct{ draft, schema, value, want string }{
		"2019-09 is the default: what stands beside $ref counts": {"", `{"$ref":"#/definitions/a","minLength":3,"definitions":{"a":{"type":"string"}}}`, `"x"`, "at the top: expected at least 3 characters"},
		"it did not in draft 7":                                  {"http://json-schema.org/draft-07/schema#", `{"$ref":"#/definitions/a","minLength":3,"definitions":{"a":{"type":"string"}}}`, `"x"`, ""},
		"a schema may differ from the blueprint":                 {"https://json-schema.org/draft/2020-12/schema", `{"$schema":"https://json-schema.org/draft-07/schema","$ref":"#/definitions/a","minLength":3,"definitions":{"a":{"type":"string"}}}`, `"x"`, ""},
		"prefixItems came with 2020-12":                          {"https://json-schema.org/draft/2020-12/schema", `{"prefixItems":[{"type":"string"}]}`, `[1]`, "at /0: expected string, found number"},
		"and mean nothing before":                                {"", `{"prefixItems":[{"type":"string"}]}`, `[1]`, ""},
		"const came with draft 6":                                {"http://json-schema.org/draft-06/schema#", `{"const":1}`, `2`, "at the top: expected 1"},
		"and means nothing in draft 4":                           {"http://json-schema.org/draft-04/schema#", `{"const":1}`, `2`, ""},
		"no version in the URI":                                  {"", `{"$schema":"http://json-schema.org/schema#","type":"string"}`, `2`, "at the top: expected string, found number"},
		"the switches of draft 4 in draft 4":                     {"http://json-schema.org/draft-04/schema#", `{"minimum":3,"exclusiveMinimum":true}`, `3`, "at the top: expected more than 3"},
		"the switches of draft 4 by default":                     {"", `{"minimum":3,"exclusiveMinimum":true}`, `3`, "at the top: expected more than 3"},
		"a switch that is off":                                   {"", `{"maximum":3,"exclusiveMaximum":false}`, `3`, ""},
		"a property that is called like a switch":                {"", `{"properties":{"exclusiveMinimum":false}}`, `{"exclusiveMinimum":1}`, "at /exclusiveMinimum: nothing is allowed here"},
		"formats are checked by default":                         {"", `{"format":"date"}`, `"tomorrow"`, "at the top: expected a text of format date"},
		"unknown formats are not":                                {"", `{"format":"weekday"}`, `"tomorrow"`, ""},
		"formats beside other schemas":                           {"", `{"format":"date","anyOf":[{"type":"string"}]}`, `"tomorrow"`, "at the top: expected a text of format date"},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = mismatch + want
			}
			expectProblem(t, check(t, c.schema, schema.Sources{Draft: c.draft}, c.value), want)
		})
	}
	got := check(t, `{}`, schema.Sources{Draft: "draft-07"}, `1`)
	if !strings.Contains(got, `the version "draft-07" of JSON Schema is unknown`) {
		t.Errorf("got %s", got)
	}
}

// sources has one schema of each kind: "port" is a number.
func sources() schema.Sources {
	port := `{"type":"number"}`
	other := func(uri string) (schema.Resource, error) {
		if uri != "cd://resources/port" {
			return schema.Resource{}, errors.New("the other component has no " + uri)
		}
		return schema.Resource{Content: []byte(`{"type":"boolean"}`), Component: "example.com/other:1"}, nil
	}
	find := func(uri string) (schema.Resource, error) {
		switch uri {
		case "cd://resources/port":
			return schema.Resource{Content: []byte(port), Component: "example.com/own:1"}, nil
		case "cd://componentReferences/other/resources/list":
			return schema.Resource{
				Content:   []byte(`{"items":{"$ref":"cd://resources/port"}}`),
				Component: "example.com/other:1",
				Resources: other,
			}, nil
		case "cd://resources/local":
			return schema.Resource{Content: []byte(`{"$ref":"local://port"}`), Component: "example.com/own:1"}, nil
		case "cd://resources/file":
			return schema.Resource{Content: []byte(`{"$ref":"blueprint://port.json"}`), Component: "example.com/own:1"}, nil
		case "cd://resources/down":
			return schema.Resource{}, errors.New("connection refused")
		}
		return schema.Resource{}, failure.Terminalf(failure.Details{Reason: "ResourceNotFound"}, "no resource %s", uri)
	}
	return schema.Sources{
		LocalTypes: map[string][]byte{
			"port":     []byte(port),
			"indirect": []byte(`{"$ref":"local://port"}`),
			"server":   []byte(`{"properties":{"http":{"$ref":"local://port"},"grpc":{"$ref":"local://port"}}}`),
			"library":  []byte(`{"definitions":{"port":{"type":"number"},"a/b":{"type":"null"},"own":{"$ref":"#/definitions/port"}}}`),
			"tree":     []byte(`{"properties":{"children":{"items":{"$ref":"#"}}},"required":["name"]}`),
			"self":     []byte(`{"properties":{"x":{"$ref":"local://self"}}}`),
			"ping":     []byte(`{"items":{"$ref":"local://pong"}}`),
			"pong":     []byte(`{"items":{"$ref":"local://ping"}}`),
			"broken":   []byte(`{"type":"text"}`),
			"garbage":  []byte(`{`),
			"My Type":  []byte(port),
			"$ref":     []byte(port),
		},
		Files: fstest.MapFS{
			"port.json":             {Data: []byte(port)},
			"schemas/server.json":   {Data: []byte(`{"properties":{"http":{"$ref":"blueprint://port.json"},"grpc":{"$ref":"local://port"}}}`)},
			"schemas/loop.json":     {Data: []byte(`{"items":{"$ref":"blueprint://schemas/loop.json#/items"}}`)},
			"schemas/my port.json":  {Data: []byte(port)},
			"schemas/resource.json": {Data: []byte(`{"$ref":"cd://resources/port"}`)},
		},
		Component: "example.com/own:1",
		Resources: find,
	}
}

func TestReferencesThatHold(t *testing.T) {
	for name, c := range map[string]struct{ schema, good, bad string }{
		"local type":                          {`{"$ref":"local://port"}`, `1`, `"x"`},
		"local type of a local type":          {`{"$ref":"local://indirect"}`, `1`, `"x"`},
		"the same one twice":                  {`{"$ref":"local://server"}`, `{"http":1,"grpc":2}`, `{"http":1,"grpc":"x"}`},
		"part of a local type":                {`{"$ref":"local://library#/definitions/port"}`, `1`, `"x"`},
		"without the first slash":             {`{"$ref":"local://library#definitions/port/"}`, `1`, `"x"`},
		"a slash in a name":                   {`{"$ref":"local://library#/definitions/a~1b"}`, `null`, `"x"`},
		"a type's own definitions":            {`{"$ref":"local://library#/definitions/own"}`, `1`, `"x"`},
		"a recursive type":                    {`{"$ref":"local://tree"}`, `{"name":"a","children":[{"name":"b"}]}`, `{"name":"a","children":[{}]}`},
		"a name with a space":                 {`{"$ref":"local://My%20Type"}`, `1`, `"x"`},
		"upper-case scheme":                   {`{"$ref":"LOCAL://port"}`, `1`, `"x"`},
		"file":                                {`{"$ref":"blueprint://port.json"}`, `1`, `"x"`},
		"file with three slashes":             {`{"$ref":"blueprint:///port.json"}`, `1`, `"x"`},
		"file that refers to file and type":   {`{"$ref":"blueprint://schemas/server.json"}`, `{"http":1,"grpc":2}`, `{"http":"x"}`},
		"part of a file":                      {`{"$ref":"blueprint://schemas/server.json#/properties/grpc"}`, `1`, `"x"`},
		"file by a winding path":              {`{"$ref":"blueprint://schemas/../port.json"}`, `1`, `"x"`},
		"file whose name has a space":         {`{"$ref":"blueprint://schemas/my%20port.json"}`, `1`, `"x"`},
		"file that refers to a resource":      {`{"$ref":"blueprint://schemas/resource.json"}`, `1`, `"x"`},
		"resource":                            {`{"$ref":"cd://resources/port"}`, `1`, `"x"`},
		"equal references in two components":  {`{"properties":{"own":{"$ref":"cd://resources/port"},"other":{"$ref":"cd://componentReferences/other/resources/list"}}}`, `{"own":1,"other":[true]}`, `{"own":1,"other":[1]}`},
		"own definitions":                     {`{"$ref":"#/definitions/a","definitions":{"a":{"type":"number"}}}`, `1`, `"x"`},
		"by anchor":                           {`{"$ref":"#a","$defs":{"a":{"$anchor":"a","type":"number"}}}`, `1`, `"x"`},
		"by identifier":                       {`{"$id":"https://example.com/x","$ref":"https://example.com/x#/$defs/a","$defs":{"a":{"type":"number"}}}`, `1`, `"x"`},
		"an unusual place":                    {`{"$ref":"#/types/a","types":{"a":{"$ref":"local://port"}}}`, `1`, `"x"`},
		"in draft 7":                          {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"local://port"}}}`, `{"a":1}`, `{"a":"x"}`},
		"a property that is called $ref":      {`{"properties":{"$ref":{"$ref":"local://$ref"}}}`, `{"$ref":1}`, `{"$ref":"x"}`},
		"data that looks like a reference":    {`{"const":{"$ref":"local://nobody"}}`, `{"$ref":"local://nobody"}`, `{"$ref":"local://port"}`},
		"an example that looks like one":      {`{"type":"number","examples":[{"$ref":"local://nobody"}],"default":{"$ref":"cd://x"}}`, `1`, `"x"`},
		"in every place where schemas can be": {`{"allOf":[{"not":{"$ref":"local://port"}}],"additionalProperties":{"items":[{"$ref":"local://port"}],"additionalItems":{"$ref":"local://port"}}}`, `{"a":[1,2]}`, `{"a":[1,"x"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, c.schema, sources(), c.good); got != "" {
				t.Errorf("%s should match: %s", c.good, got)
			}
			if got := check(t, c.schema, sources(), c.bad); !strings.HasPrefix(got, mismatch) {
				t.Errorf("%s should not match: %s", c.bad, got)
			}
		})
	}
}

func TestReferencesThatFail(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"unknown type":                {`{"$ref":"local://nobody"}`, `local://nobody does not exist: declare "nobody" in the blueprint's localTypes`},
		"a type by its wrong case":    {`{"$ref":"local://Port"}`, `local://Port does not exist: declare "Port" in the blueprint's localTypes`},
		"a path in a type":            {`{"$ref":"local://port/x"}`, `a local:// reference is the name of a local type; it has no path: use # and a JSON pointer to point into the type`},
		"no name":                     {`{"$ref":"local://"}`, `the reference "local://" is empty`},
		"missing part of a type":      {`{"$ref":"local://library#/definitions/none"}`, `json-pointer in "local://library#/definitions/none" not found`},
		"unknown file":                {`{"$ref":"blueprint://none.json"}`, `blueprint://none.json does not exist: the blueprint has no file "none.json"`},
		"out of the blueprint":        {`{"$ref":"blueprint://../../etc/passwd"}`, `blueprint://etc/passwd does not exist: the blueprint has no file "etc/passwd"`},
		"a directory":                 {`{"$ref":"blueprint://schemas"}`, `blueprint://schemas cannot be read: is "schemas" a file?`},
		"nothing at all":              {`{"$ref":"blueprint:///"}`, `the reference "blueprint:///" is empty`},
		"a bad escape":                {`{"$ref":"blueprint://a%zz"}`, `the reference "blueprint://a%zz" is not a valid URI: write %25 for a percent sign`},
		"a query":                     {`{"$ref":"cd://resources/port?x=1"}`, `the reference "cd://resources/port?x=1" contains a character that is not allowed`},
		"a type in a component":       {`{"$ref":"cd://resources/local"}`, `cd://resources/local: local://port is not available in schemas of a component: a component has no local types`},
		"a file in a component":       {`{"$ref":"cd://resources/file"}`, `cd://resources/file: blueprint://port.json is not available here: no blueprint directory`},
		"a type that contains itself": {`{"$ref":"local://self"}`, `references form a cycle: local://self depends on itself. Within one schema, refer to a part of it with #/...`},
		"types in a circle":           {`{"$ref":"local://pong"}`, `references form a cycle: dependency cycle: local://ping -> local://pong -> local://ping (each depends on the next). Within one schema, refer to a part of it with #/...`},
		"a file that refers to its own part by its full name": {`{"$ref":"blueprint://schemas/loop.json"}`, `references form a cycle: blueprint://schemas/loop.json depends on itself. Within one schema, refer to a part of it with #/...`},
		"a faulty type":          {`{"properties":{"a":{"$ref":"local://broken"}}}`, `local://broken: at /type: expected array, found string; at /type: expected one of "array", "boolean", "integer", "null", "number", "object", "string"; at /type: none of the alternatives matches (anyOf)`},
		"a type that is no JSON": {`{"$ref":"local://garbage"}`, `local://garbage: it is not JSON: unexpected EOF`},
		"too long":               {`{"$ref":"cd://` + strings.Repeat("x", 2080) + `"}`, `the reference has 2085 characters; at most 2083 are allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, check(t, c.schema, sources(), `1`), `the schema of import "config" is invalid: `+c.want)
		})
	}
}

func TestReferencesWithoutASource(t *testing.T) {
	for ref, want := range map[string]string{
		"local://a":        "declare \"a\" in the blueprint's localTypes",
		"blueprint://a":    "no blueprint directory",
		"cd://resources/a": "the installation has no component descriptor",
	} {
		if got := check(t, `{"$ref":"`+ref+`"}`, schema.Sources{}, `1`); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s", ref, got)
		}
	}
}

func TestAFindersErrorKeepsItsKind(t *testing.T) {
	for resource, want := range map[string]failure.Kind{"down": failure.Retryable, "none": failure.Terminal} {
		_, err := newCompiler().Compile(`export "url"`, []byte(`{"$ref":"cd://resources/`+resource+`"}`), sources())
		if err == nil || failure.KindOf(err) != want {
			t.Errorf("%s: kind of %v is %v, want %v", resource, err, failure.KindOf(err), want)
		}
		if !strings.HasPrefix(err.Error(), `the schema of export "url": read the schema cd://resources/`+resource) {
			t.Errorf("%s: %v does not say what was attempted", resource, err)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 200)
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprintf("name%02d", i)))
	}
	list := strings.Join(many, ",")
	for name, c := range map[string]struct{ schema, value, want string }{
		"a long name":     {`{"additionalProperties":{"type":"string"}}`, `{"` + long + `":1}`, "at /" + long[:80] + "...: expected string"},
		"a long enum":     {`{"enum":["` + long + `"]}`, `1`, `expected one of "` + long[:79] + "..."},
		"many choices":    {`{"enum":[` + list + `]}`, `1`, `"name19", ...`},
		"many missing":    {`{"required":[` + list + `]}`, `{}`, `"name19", ...`},
		"a large bound":   {`{"minimum":1e300}`, `1`, "expected at least 1e+300"},
		"control letters": {`{"additionalProperties":{"type":"string"}}`, `{"a\nb\"c":1}`, `at /a\nb\"c: expected string`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, c.schema, schema.Sources{}, c.value); !strings.Contains(got, c.want) || strings.Contains(got, long) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReferencesIntoListsAndByAddress(t *testing.T) {
	for name, c := range map[string]struct{ schema, good, bad string }{
		"into allOf":           {`{"allOf":[{},{"type":"number"}],"properties":{"a":{"$ref":"#/allOf/1"}}}`, `1`, `"x"`},
		"into items":           {`{"items":[{"type":"number"},{"$ref":"#/items/0"}]}`, `[1,2]`, `[1,"x"]`},
		"into an only items":   {`{"items":{"type":"number"},"contains":{"$ref":"#/items"}}`, `[1]`, `["x"]`},
		"with escapes":         {`{"$ref":"#/$defs/a%20b~1c","$defs":{"a b/c":{"type":"number"}}}`, `1`, `"x"`},
		"through a reference":  {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"number"}}}`, `1`, `"x"`},
		"across documents":     {`{"$ref":"local://indirect","$defs":{"x":{"$ref":"local://library#/definitions/own"}}}`, `1`, `"x"`},
		"a recursive anchor":   {`{"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"required":["n"]}`, `{"n":1,"a":{"n":2}}`, `{"n":1,"a":{}}`},
		"a dynamic anchor":     {`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicAnchor":"t","properties":{"a":{"$dynamicRef":"#t"}},"required":["n"]}`, `{"n":1,"a":{"n":2}}`, `{"n":1,"a":{}}`},
		"an identifier inside": {`{"properties":{"a":{"$ref":"https://example.com/t"}},"$defs":{"t":{"$id":"https://example.com/t","type":"number"}}}`, `{"a":1}`, `{"a":"x"}`},
		"an id of draft 4":     {`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"$ref":"#t"}},"definitions":{"t":{"id":"#t","type":"number"}}}`, `{"a":1}`, `{"a":"x"}`},
		"a data of true":       {`{"properties":{"a":true,"b":false}}`, `{"a":1}`, `{"b":1}`},
		"dependent schemas":    {`{"dependentSchemas":{"a":{"required":["b"]}},"dependencies":{"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"c":1}`},
		"unevaluated":          {`{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		"unevaluated items":    {`{"items":[{}],"unevaluatedItems":false}`, `[1]`, `[1,2]`},
		"max contains":         {`{"contains":{"type":"string"},"maxContains":1}`, `["a"]`, `["a","b"]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, c.schema, sources(), c.good); got != "" {
				t.Errorf("%s should match: %s", c.good, got)
			}
			if got := check(t, c.schema, sources(), c.bad); !strings.HasPrefix(got, mismatch) {
				t.Errorf("%s should not match: %s", c.bad, got)
			}
		})
	}
}

func TestParseReference(t *testing.T) {
	for text, want := range map[string]schema.Reference{
		"local://a":                         {Scheme: "local", Path: "a"},
		"local://a#":                        {Scheme: "local", Path: "a"},
		"local://A%20b#/x":                  {Scheme: "local", Path: "A b", Fragment: "/x"},
		"Blueprint://a//b/./c.json#x/y/":    {Scheme: "blueprint", Path: "a/b/c.json", Fragment: "/x/y"},
		"blueprint:///a/../../b":            {Scheme: "blueprint", Path: "b"},
		"cd://componentReferences/a/res/b":  {Scheme: "cd", Path: "componentReferences/a/res/b"},
		"cd://resources/a#anchor":           {Scheme: "cd", Path: "resources/a", Fragment: "anchor"},
		"cd://resources/a%2Fb#/definitions": {Scheme: "cd", Path: "resources/a/b", Fragment: "/definitions"},
	} {
		got, ours, err := schema.ParseReference(text)
		if err != nil || !ours || got != want {
			t.Errorf("%s = %+v, %t, %v", text, got, ours, err)
		}
	}
	for _, text := range []string{"", "#/x", "a.json", "http://a", "local:a", "locals://a", "file:///a"} {
		if _, ours, err := schema.ParseReference(text); ours || err != nil {
			t.Errorf("%q was taken for ours: %v", text, err)
		}
	}
	long := "cd://" + strings.Repeat("x", schema.MaxReferenceLength-5)
	if _, _, err := schema.ParseReference(long); err != nil {
		t.Errorf("the longest reference: %v", err)
	}
	if _, _, err := schema.ParseReference(long + "x"); err == nil {
		t.Error("a reference that is too long was accepted")
	}
}

// TestTheBlueprintsSchemasAreNotChanged compares the given texts with copies.
func TestTheBlueprintsSchemasAreNotChanged(t *testing.T) {
	s := sources()
	before := fmt.Sprintf("%s", s.LocalTypes)
	text := []byte(`{"minimum":3,"exclusiveMinimum":true,"properties":{"a":{"$ref":"local://server"}},"format":"date","anyOf":[{}]}`)
	copied := bytes.Clone(text)
	compiled(t, newCompiler(), string(text), s)
	if _, err := newCompiler().Compile("x", text, s); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, copied) || fmt.Sprintf("%s", s.LocalTypes) != before {
		t.Error("compiling changed a schema")
	}
}

func TestNoFileOfTheMachineIsEverRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(name, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file://" + filepath.ToSlash(name), filepath.ToSlash(name)} {
		got := check(t, `{"$ref":"`+ref+`"}`, sources(), `"text"`)
		if !strings.Contains(got, "which cannot be loaded") {
			t.Errorf("%s: got %q", ref, got)
		}
	}
}
