// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/schema"
)

const canary = "s3cr3t-canary"

// randomSchema generates a schema with most keywords, so that most values violate some of its rules.
func randomSchema(random *rand.Rand, depth int) map[string]any {
	pick := func(options ...any) any { return options[random.IntN(len(options))] }
	result := map[string]any{}
	nested := func() any {
		if depth == 0 {
			return map[string]any{"type": pick("string", "number", "null")}
		}
		return randomSchema(random, depth-1)
	}
	for range 1 + random.IntN(3) {
		switch random.IntN(14) {
		case 0:
			result["type"] = pick("string", "number", "integer", "object", "array", "boolean", "null")
		case 1:
			result["enum"] = []any{pick(1, "a", nil), "b"}
		case 2:
			result["const"] = pick(1, "a", nil)
		case 3:
			result["pattern"] = pick("^a", "b+$", "[0-9]")
		case 4:
			result["format"] = pick("ipv4", "date", "email", "uuid", "regex", "uri")
		case 5:
			result["minLength"], result["maxLength"] = random.IntN(3), 5
		case 6:
			result["minimum"], result["maximum"], result["multipleOf"] = 10, 100, 7
		case 7:
			result["properties"] = map[string]any{"a": nested(), "b": nested()}
		case 8:
			result["items"] = nested()
		case 9:
			result[pick("allOf", "anyOf", "oneOf").(string)] = []any{nested(), nested()}
		case 10:
			result["not"] = nested()
		case 11:
			result["additionalProperties"], result["required"] = pick(true, false, nested()), []any{"a", "c"}
		case 12:
			result["contains"], result["uniqueItems"] = nested(), true
		case 13:
			result["if"], result["then"], result["else"] = nested(), nested(), nested()
		}
	}
	return result
}

func randomValue(random *rand.Rand, depth int) any {
	switch random.IntN(7) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return 4242424242.0 + float64(random.IntN(3))
	case 3, 4:
		return canary + fmt.Sprint(random.IntN(3))
	case 5:
		list := make([]any, random.IntN(3))
		for i := range list {
			list[i] = randomValue(random, max(0, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			if depth > 0 && random.IntN(3) > 0 {
				object[name] = randomValue(random, depth-1)
			}
		}
		return object
	}
}

func TestErrorsNeverContainTheValue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	compiler := newCompiler()
	failed := 0
	const rounds = 1000
	for range rounds {
		text, err := json.Marshal(randomSchema(random, 2))
		if err != nil {
			t.Fatal(err)
		}
		err = compiler.Validate("x", text, schema.Sources{}, randomValue(random, 3))
		if err == nil {
			continue
		}
		failed++
		if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "424242") {
			t.Fatalf("the value is in the error: %v\nschema %s", err, text)
		}
		if failure.DetailsOf(err).Reason == schema.ReasonInvalidSchema {
			t.Fatalf("the test draws invalid schemas: %v\nschema %s", err, text)
		}
	}
	if failed < rounds/3 {
		t.Fatalf("only %d of %d values failed; the test sees too few errors", failed, rounds)
	}
}

// verdict is the result of a fresh compiler for a value: empty, or the reason and, for a mismatch, the problems.
func verdict(text string, s schema.Sources, value any) (string, string) {
	err := newCompiler().Validate("x", []byte(text), s, value)
	if err == nil {
		return "", ""
	}
	return failure.DetailsOf(err).Reason, err.Error()
}

// checkIndirection checks that a schema means the same whether it is given directly or referred to, as a type, file or
// resource.
func checkIndirection(t *testing.T, text string, value any) {
	t.Helper()
	direct, message := verdict(text, schema.Sources{}, value)
	if again, same := verdict(text, schema.Sources{}, value); again != direct || same != message {
		t.Fatalf("the answer changes: %q, then %q", message, same)
	}
	if direct != "" && direct != schema.ReasonSchemaValidationFailed && direct != schema.ReasonInvalidSchema &&
		direct != schema.ReasonSchemaTooExpensive {
		t.Fatalf("unexpected reason %q: %s", direct, message)
	}
	for ref, s := range map[string]schema.Sources{
		"local://a":        {LocalTypes: map[string][]byte{"a": []byte(text)}},
		"blueprint://a":    file("a", text),
		"cd://resources/a": {Resources: func(string) (schema.Resource, error) { return schema.Resource{Content: []byte(text)}, nil }},
	} {
		indirect, other := verdict(`{"$ref":"`+ref+`"}`, s, value)
		if indirect != direct && direct != schema.ReasonSchemaTooExpensive && indirect != schema.ReasonSchemaTooExpensive {
			t.Fatalf("directly %q, by %s %q\nschema %s", message, ref, other, text)
		}
		if direct == schema.ReasonSchemaValidationFailed && other != message {
			t.Fatalf("directly %q, by %s %q", message, ref, other)
		}
	}
}

func TestIndirectionChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		text, err := json.Marshal(randomSchema(random, 2))
		if err != nil {
			t.Fatal(err)
		}
		checkIndirection(t, string(text), randomValue(random, 3))
	}
}

func FuzzSchema(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"string"}`, `1`},
		{`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"enum":[1,"x"]}}}`, `{"a":2}`},
		{`{"minimum":3,"exclusiveMinimum":true}`, `3`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","anyOf":[{"format":"ipv4"},{"$id":"x","type":"null"}]}`, `"a"`},
		{`{"$ref":"#","$id":"https://example.com/x"}`, `null`},
		{`{"$recursiveRef":"#","allOf":[{"items":{"not":{}}}]}`, `[1]`},
		{`{"patternProperties":{"^a":false},"unevaluatedProperties":false}`, `{"ab":1}`},
		{`{"multipleOf":1e-300,"maximum":1e300}`, `1e10`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, valueText string) {
		var value any
		if json.Unmarshal([]byte(valueText), &value) != nil {
			value = canary
		}
		checkIndirection(t, text, value)
	})
}

func FuzzReference(f *testing.F) {
	for _, seed := range []string{
		"local://a", "blueprint://a/b.json#/definitions/x", "cd://componentReferences/a/resources/b", "LOCAL:///a", "local://a b",
		"blueprint://../x", "blueprint://a%2Fb", "http://example.com", "local://", "cd://a//b/./c#x/", "local://a%25#%41",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reference, ours, err := schema.ParseReference(text)
		if !ours {
			if lower := strings.ToLower(text); strings.HasPrefix(lower, "local://") || strings.HasPrefix(lower, "blueprint://") ||
				strings.HasPrefix(lower, "cd://") {
				t.Fatalf("%q was not recognised", text)
			}
			return
		}
		if err != nil {
			return
		}
		if strings.HasPrefix(reference.Path, "/") || strings.HasPrefix(reference.Path, "..") || strings.Contains(reference.Path, "/../") {
			t.Fatalf("%q leads out to %q", text, reference.Path)
		}
		again, ours, err := schema.ParseReference(reference.String())
		if len(reference.String()) > schema.MaxReferenceLength {
			return
		}
		if !ours || err != nil || again != reference {
			t.Fatalf("%q is %+v, whose text %q is %+v (%v)", text, reference, reference.String(), again, err)
		}
	})
}
