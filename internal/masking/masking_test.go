// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	. "espalier.dev/internal/masking"
)

// canary contains characters that are escaped in quotes, in URLs and in JSON.
const canary = `can"ary <0123> K/9+ä`

func valuesOf(texts ...string) *Values {
	v := &Values{}
	for _, text := range texts {
		v.AddText(text)
	}
	return v
}

func TestValuesOfASecret(t *testing.T) {
	v := valuesOf("user: bob\npassword: hunter2\nport: 5432\nword: data\nkey: |\n  -----BEGIN-----\n  abcdefghijkl\n")
	tests := map[string]struct{ value, want any }{
		"alone":          {"hunter2", Mask},
		"short, alone":   {"bob", Mask},
		"short, inside":  {"bobsleigh", "bobsleigh"},
		"inside":         {"http://bob:hunter2@x", "http://bob:" + Mask + "@x"},
		"base64":         {"aHVudGVyMg==", Mask},
		"a number":       {int64(5432), Mask},
		"another number": {int64(3), int64(3)},
		"indented lines": {"x:\n    -----BEGIN-----\n    abcdefghijkl\n", "x:\n    " + Mask + "\n    " + Mask + "\n"},
		"in a list":      {[]any{"a", map[string]any{"b": "hunter2"}}, []any{"a", map[string]any{"b": Mask}}},
		"a truth":        {true, true},
		"a key":          {map[string]any{"hunter2": "x"}, map[string]any{Mask: "x"}},
		"several keys": {
			map[string]any{"a-hunter2": "x", "b": "y", "hunter2": "x", "hunter2-": "z"},
			map[string]any{"a-" + Mask: "x", "b": "y", Mask: "x", Mask + "-": "z"},
		},
		"keys that look the same": {
			map[string]any{"hunter2": "x", "HUNTER2": nil, "Hunter2": "y"}, map[string]any{Mask: nil, Mask + " (2)": "y", Mask + " (3)": "x"},
		},
		"names of fields": {map[string]any{"data": map[string]any{"hunter2": true}}, map[string]any{"data": map[string]any{Mask: true}}},
	}
	for name, test := range tests {
		got, found := v.Value(test.value)
		if difference := cmp.Diff(test.want, got); difference != "" || found != !cmp.Equal(test.value, test.want) {
			t.Errorf("%s: found %v, %s", name, found, difference)
		}
	}
}

func TestDisguises(t *testing.T) {
	encoded, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":                canary,
		"in capitals":             strings.ToUpper(canary),
		"in quotes":               strconv.Quote(canary),
		"in JSON":                 string(encoded),
		"in a query":              url.QueryEscape(canary),
		"in a path":               url.PathEscape(canary),
		"in base64":               base64.StdEncoding.EncodeToString([]byte(canary)),
		"in base64 of URLs":       base64.URLEncoding.EncodeToString([]byte(canary)),
		"of basic authentication": base64.StdEncoding.EncodeToString([]byte("me:" + canary)),
		"in a longer base64":      base64.StdEncoding.EncodeToString([]byte("x" + canary + "\n")),
		"in hexadecimal digits":   fmt.Sprintf("%X", canary),
		"in a Go value":           fmt.Sprintf("%#v", map[string]string{"a": canary}),
	} {
		t.Run(name, func(t *testing.T) {
			got := valuesOf("\n  " + canary + "\n").Text("before " + text + " after")
			if !strings.Contains(got, Mask) || strings.Contains(got, "0123") || strings.Contains(got, text) {
				t.Errorf("%q", got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%q hides what is no secret", got)
			}
		})
	}
}

func TestHowMuchIsMasked(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4) + "rest"
	for name, c := range map[string]struct{ secret, text, want string }{
		"one of four within a word":       {"data", "metadata.name", "metadata.name"},
		"one of four as a word":           {"data", "metadata.name and x-data-y", "metadata.name and x-" + Mask + "-y"},
		"one of six within a word":        {"abcdef", "xabcdefy", "x" + Mask + "y"},
		"a short one":                     {"abc", "abc is not shown as \"abc\" or 'abc'", "abc is not shown as \"" + Mask + "\" or '" + Mask + "'"},
		"the beginning of a long one":     {long, long[:20] + "...", Mask + "..."},
		"the middle of a long one":        {long, "..." + long[11:51] + "...", "..." + Mask + "..."},
		"less of it is chance":            {long, long[:15], long[:15]},
		"two beside each other":           {"secret-1\nsecret-2", "secret-1secret-2", Mask},
		"a line of several":               {"first line\nsecond line\n", "is second line", "is " + Mask},
		"a leaf, but no key":              {"password: hunter2", "the password hunter2", "the password " + Mask},
		"a short one in a list":           {"abc", "found 1: [abc]", "found 1: [" + Mask + "]"},
		"a piece of a document":           {"certificate-authority-data: 1234\nother-canary-key: 5678\n", "certificate-authority-data: 1234 of certificate-authority-data", Mask + " of certificate-authority-data"},
		"what everybody says is no value": {"true", "it is true", "it is true"},
		"bytes that are no text":          {"\xff\xfe-secret", "x \xff\xfe-secret", "x " + Mask},
	} {
		t.Run(name, func(t *testing.T) {
			if got := valuesOf(c.secret).Text(c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestOfExportsOnlyWhatLooksSecretIsMasked(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("swordfish"))
	for name, c := range map[string]struct {
		exported any
		text     string
		want     string
	}{
		"a generated password":       {"fT3kq9ZpX1vW8rLm", "rejects fT3kq9ZpX1vW8rLm", "rejects " + Mask},
		"a piece of it":              {"fT3kq9ZpX1vW8rLm.fT3kq9ZpX1vW8rLm", "rejects 9ZpX1vW8rLm.fT3kq...", "rejects " + Mask + "..."},
		"a token of small letters":   {"0cc175b9c0f1b6a831c399e269772661", "rejects 0cc175b9c0f1b6a831c399e269772661", "rejects " + Mask},
		"letters only":               {"qwfpgjluyarstdhneio", "rejects qwfpgjluyarstdhneio", "rejects " + Mask},
		"in an object":               {map[string]any{"a": []any{"fT3kq9ZpX1vW8rLm"}}, "rejects fT3kq9ZpX1vW8rLm", "rejects " + Mask},
		"in a document":              {"user: me\ntoken: fT3kq9ZpX1vW8rLm\n", "rejects fT3kq9ZpX1vW8rLm of user me", "rejects " + Mask + " of user me"},
		"in a line":                  {"all is well here\nfT3kq9ZpX1vW8rLm\n", "all is well here, fT3kq9ZpX1vW8rLm", "all is well here, " + Mask},
		"from a Secret":              {encoded, "rejects " + encoded, "rejects " + Mask},
		"from a Secret, decoded":     {encoded, "rejects swordfish", "rejects " + Mask},
		"a short word":               {"nginx", "rejects nginx", "rejects nginx"},
		"a truth":                    {true, "it is true", "it is true"},
		"a number":                   {12345678.0, "12345678", "12345678"},
		"a word that looks encoded":  {"frontend", "namespace frontend", "namespace frontend"},
		"a name":                     {"shop-production-eu-west-1", "namespace shop-production-eu-west-1", "namespace shop-production-eu-west-1"},
		"an address":                 {"https://api.v2.shop.example.com:6443/x", "https://api.v2.shop.example.com:6443/x", "https://api.v2.shop.example.com:6443/x"},
		"an IP address":              {"2001:db8:85a3:0:0:8a2e:370:7334", "2001:db8:85a3:0:0:8a2e:370:7334", "2001:db8:85a3:0:0:8a2e:370:7334"},
		"a sentence":                 {"The database is ready.", "The database is ready.", "The database is ready."},
		"a secret of fifteen, plain": {"fT3kq9ZpX1vW8rL", "fT3kq9ZpX1vW8rL", "fT3kq9ZpX1vW8rL"},
	} {
		v := &Values{}
		v.AddExport(c.exported)
		if got := v.Text(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestValuesOfATarget(t *testing.T) {
	kubeconfig := `
apiVersion: v1
clusters: [{name: garden, cluster: {server: "https://garden.example.org", certificate-authority-data: Y2VydGlmaWNhdGU=}}]
users: [{name: keeper, user: {token: token-of-the-keeper, misplaced-value: other-canary, client-key-data: a2V5LW9mLXRoZS1rZWVwZXI=}}]
`
	target := &lsv1alpha1.Target{}
	config, err := lsv1alpha1.NewAnyJSON(map[string]any{"kubeconfig": kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	target.Spec.Configuration = &config
	inTarget, inSecret := &Values{}, &Values{}
	inTarget.AddTarget(target)
	inSecret.AddCredentials(map[string][]byte{"kubeconfig": []byte(kubeconfig), "other": []byte("plain-canary")})
	for name, v := range map[string]*Values{"in the Target": inTarget, "in a Secret": inSecret} {
		text := "keeper of garden at https://garden.example.org, certificate-authority-data "
		if got := v.Text(text); got != text {
			t.Errorf("%s: %q", name, got)
		}
		for _, secret := range []string{"token-of-the-keeper", "other-canary", "misplaced-value", "a2V5LW9mLXRoZS1rZWVwZXI="} {
			if got := v.Text(secret); strings.Contains(got, secret[:8]) {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if got := inSecret.Text("plain-canary"); got != Mask {
		t.Errorf("%q", got)
	}
}

// In every rejection by an API server, the field and the reason stay and the value is removed, although it is not known to
// be secret.
func TestWordsOfRefusals(t *testing.T) {
	path := field.NewPath("spec", "x")
	invalid := func(e *field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "one", field.ErrorList{e})
	}
	_, numberError := strconv.Atoi("canary")
	_, timeError := time.Parse(time.RFC3339, "canary")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"invalid":           {invalid(field.Invalid(path, "canary", "must be a number")), "the API server rejects it as invalid: spec.x: Invalid value: must be a number"},
		"in the detail":     {invalid(field.Invalid(path, "a canary", "expected 5 fields, found 2: [a canary]")), "the API server rejects it as invalid: spec.x: Invalid value: expected 5 fields, found 2: [<masked>]"},
		"a part of it":      {invalid(field.Invalid(path, "1-canary", `parsing "canary": invalid syntax`)), `the API server rejects it as invalid: spec.x: Invalid value: parsing "<masked>": invalid syntax`},
		"in the field":      {invalid(field.Invalid(path.Key("canary"), "canary", "bad")), "the API server rejects it as invalid: spec.x[<masked>]: Invalid value: bad"},
		"an object":         {invalid(field.Invalid(path, map[string]string{"canary: ": "x"}, "bad")), "the API server rejects it as invalid: spec.x: Invalid value"},
		"a wrong type":      {invalid(field.Invalid(path, "string", `spec.x in body must be of type integer: "string"`)), `the API server rejects it as invalid: spec.x: Invalid value: spec.x in body must be of type integer: "string"`},
		"unsupported":       {invalid(field.NotSupported(path, "canary", []string{"a", "b"})), `the API server rejects it as invalid: spec.x: Unsupported value: supported values: "a", "b"`},
		"duplicate":         {invalid(field.Duplicate(path, "canary")), "the API server rejects it as invalid: spec.x: Duplicate value"},
		"not found":         {invalid(field.NotFound(path, "canary")), "the API server rejects it as invalid: spec.x: Not found"},
		"required":          {invalid(field.Required(path, "name it")), "the API server rejects it as invalid: spec.x: Required value: name it"},
		"forbidden":         {invalid(field.Forbidden(path, "may not change")), "the API server rejects it as invalid: spec.x: Forbidden: may not change"},
		"a field error":     {field.Invalid(path, "canary", "bad"), "spec.x: Invalid value: bad"},
		"wrapped":           {fmt.Errorf("create it: %w", errors.Join(errors.New("one"), invalid(field.Duplicate(path, "canary")))), "create it: one\nthe API server rejects it as invalid: spec.x: Duplicate value"},
		"an excerpt":        {apierrors.NewBadRequest(`cannot read it: v1.Thing.X: json: wrong, error found in #10 byte of ...|canary|..., bigger context ...|canary|...`), "cannot read it: v1.Thing.X: json: wrong"},
		"a time":            {apierrors.NewBadRequest(`parsing time "canary" as "2006"`), `parsing time the value as "2006"`},
		"another type":      {fmt.Errorf("read it: %w", json.Unmarshal([]byte(`{"A":123456}`), &struct{ A string }{})), `read it: a number where a string is expected, at "A"`},
		"no number":         {numberError, "the value is not a number"},
		"no time":           {timeError, "the value is not a time"},
		"none of an object": {apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "one"), `things "one" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Words(c.err); got != c.want {
				t.Errorf("\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestErrorKeepsKindAndCauses(t *testing.T) {
	v := valuesOf("hunter2")
	cause := errors.New("hunter2 is bad")
	err := v.Error(failure.NewTerminal(failure.Details{Reason: "Bad"}, fmt.Errorf("look: %w", cause)))
	if err.Error() != "look: "+Mask+" is bad" || !errors.Is(err, cause) {
		t.Errorf("%v, because of the cause: %t", err, errors.Is(err, cause))
	}
	if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != "Bad" {
		t.Errorf("%v, %+v", failure.KindOf(err), failure.DetailsOf(err))
	}
	waiting := v.Error(fmt.Errorf("look: %w", &failure.Wait{Reason: "Later", For: "Target hunter2"}))
	wait, ok := failure.AsWait(waiting)
	if !ok || strings.Contains(waiting.Error(), "hunter2") {
		t.Errorf("%v is a wait: %t", waiting, ok)
	}
	if diff := cmp.Diff(&failure.Wait{Reason: "Later", For: "Target " + Mask}, wait); diff != "" {
		t.Errorf("the wait (-want +got):\n%s", diff)
	}
	if v.Error(nil) != nil || (*Values)(nil).Error(cause).Error() != cause.Error() {
		t.Error("without an error or without values nothing changes")
	}
}

func TestNothingIsShownThatCannotBeMasked(t *testing.T) {
	v := Unknown(errors.New("read Secret a/b: forbidden"))
	err := v.Error(failure.Terminalf(failure.Details{Reason: "Bad"}, "hunter2 is bad"))
	if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "read Secret a/b: forbidden") {
		t.Errorf("%v, want why nothing is shown, and nothing else", err)
	}
	if failure.KindOf(err) != failure.Terminal || v.Known() {
		t.Errorf("the error is %s, the values are known: %t", failure.KindOf(err), v.Known())
	}
}
