// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
)

const spiffPassword = `deployExecutions:
- name: d
  type: Spiff
  template:
    password: (( &state(rand("[:alnum:]", 20)) ))
    deployItems:
    - {name: i, type: t, config: {apiVersion: v1, kind: C, password: (( .password ))}}
`

const goPassword = `deployExecutions:
- name: d
  type: GoTemplate
  template: |
    {{ $password := randAlphaNum 20 }}
    {{ if .state }}{{ $password = .state.password }}{{ end }}
    state: {password: {{ $password }}}
    deployItems:
    - {name: i, type: t, config: {apiVersion: v1, kind: C, password: {{ $password }}}}
`

// Passwords are generated once, follow from the seed, and are kept from then on.
func TestPasswordsAreGeneratedOnce(t *testing.T) {
	e := NewEngine()
	for language, text := range map[string]string{"Spiff": spiffPassword, "GoTemplate": goPassword} {
		render := func(seed string, states States) *Output {
			in := inputOf(t, e, files(text))
			in.Entropy, in.States = template.NewEntropy([]byte(seed), time.Time{}), states
			out, err := e.Render(in)
			if err != nil {
				t.Fatalf("%s: %v", language, err)
			}
			return out
		}
		password := func(out *Output) string { return string(out.DeployItems[0].Configuration.Raw) }
		first := render("one", nil)
		kept := fmt.Sprint(first.States[dataflow.StateDeploy]["d"]["password"])
		if len(kept) != 20 || !strings.Contains(password(first), kept) || first.States.Within(nil) {
			t.Errorf("%s: the state is %v, the deploy item %s", language, first.States, password(first))
		}
		if again := render("one", nil); password(again) != password(first) {
			t.Errorf("%s: the same seed gives another password", language)
		}
		secrets, err := first.States.Secrets("tree")
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := inputOf(t, e, files(text)).Blueprint.LoadStates("tree", secrets)
		if err != nil {
			t.Fatal(err)
		}
		if later := render("two", loaded); password(later) != password(first) || !later.States.Within(loaded) {
			t.Errorf("%s: the password is not kept: %s, then %s", language, password(first), password(later))
		}
	}
}

func TestWhatIsGeneratedHasToBeKept(t *testing.T) {
	e := NewEngine()
	for text, want := range map[string]string{
		"{{ $p := randAlphaNum 20 }}a: {{ $p }}":                                                 "deployExecutions[0] (d): the result of function randAlphaNum must be stored",
		"{{ $p := randAlphaNum 20 }}a: {{ $p }}\nstate: {q: {{ randAlpha 20 }}}":                 "function randAlphaNum must be stored",
		"{{ $p := randAlphaNum 20 }}a: {{ $p }}\nstate: {q: {{ $p }}}":                           "",
		"{{ $p := genPrivateKey \"ecdsa\" }}a: {{ $p | toJson }}":                                "function genPrivateKey must be stored",
		"{{ $p := genPrivateKey \"ecdsa\" }}a: {{ $p | toJson }}\nstate: {b: {{ $p | toJson }}}": "",
		"{{ $p := htpasswd \"u\" \"p\" }}a: {{ $p | quote }}":                                    "function htpasswd must be stored",
		"{{ $p := htpasswd \"u\" \"p\" }}a: {{ $p | quote }}\nstate: {b: {{ $p | quote }}}":      "",
		"a: {{ derivePassword 1 \"pin\" \"x\" \"y\" \"z\" | quote }}":                            "",
		"{{ $p := randAlphaNum 20 }}a: 1":                                                        "",
		// Other forms of a text.
		"a: {{ randAlphaNum 20 | b64enc }}":                                                             "function randAlphaNum must be stored",
		"a: {{ randAlphaNum 7 | b64enc }}":                                                              "function randAlphaNum must be stored",
		"a: {{ randAlphaNum 20 | b64enc | trimSuffix \"=\" }}":                                          "function randAlphaNum must be stored",
		"a: {{ randAscii 200 | b64enc | replace \"+\" \"-\" | replace \"/\" \"_\" }}":                   "function randAscii must be stored",
		"a: {{ printf \"u:%s\" (randAlphaNum 20) | b64enc }}":                                           "function randAlphaNum must be stored",
		"a: {{ printf \"user1:%s/more\" (randAlphaNum 20) | b64enc }}":                                  "function randAlphaNum must be stored",
		"a: {{ printf \"user:%s@host\" (randAlphaNum 20) | b64enc }}":                                   "function randAlphaNum must be stored",
		"a: {{ dict \"p\" (randAlphaNum 20) | toJson | b64enc }}":                                       "function randAlphaNum must be stored",
		"a: {{ dict \"p\" (randAlphaNum 20) | toJson | quote }}":                                        "function randAlphaNum must be stored",
		"a: x{{ uuidv4 | upper }}":                                                                      "function uuidv4 must be stored",
		"a: x{{ randAlpha 20 | lower }}":                                                                "function randAlpha must be stored",
		"a: {{ genPrivateKey \"ecdsa\" | b64enc }}":                                                     "function genPrivateKey must be stored",
		"a: {{ genPrivateKey \"ecdsa\" | indent 4 | quote }}":                                           "function genPrivateKey must be stored",
		"a: {{ genPrivateKey \"ecdsa\" | indent 4 | b64enc }}":                                          "function genPrivateKey must be stored",
		"{{ $p := randAlphaNum 20 }}a: {{ $p }}\nstate: {q: {{ $p | b64enc }}}":                         "",
		"{{ $p := randAlphaNum 20 }}a: {{ $p | b64enc }}\nstate: {q: {{ $p }}}":                         "",
		"{{ $p := randAlphaNum 20 }}a: {{ $p | upper }}\nstate: {q: {{ printf \"u:%s\" $p | b64enc }}}": "",
		// What is not detected.
		"a: {{ randAlphaNum 3 | quote }}":          "",
		"a: {{ randAlphaNum 6 | b64enc | quote }}": "",
		"a: {{ randAlphaNum 20 | sha256sum }}":     "",
		"a: {{ randAlphaNum 20 | trunc 10 }}":      "",
		"a: {{ randInt 10000 99999 }}":             "",
		"a: {{ shuffle \"      \" | len }}":        "",
	} {
		in := inputOf(t, e, deploying(text))
		in.Entropy = template.NewEntropy(nil, time.Time{})
		_, err := e.Render(in)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for _, execution := range []string{
		`importExecutions: [{name: d, type: GoTemplate, template: "a: {{ randAlphaNum 3 }}"}]`,
		`importExecutions: [{name: d, type: Spiff, template: {a: (( &state(rand(5)) ))}}]`,
	} {
		in := inputOf(t, e, files(execution))
		in.Entropy = template.NewEntropy(nil, time.Time{})
		if _, err := e.Render(in); err == nil ||
			!strings.Contains(err.Error(), "nothing is stored here: only deploy, subinstallation and export executions have a state") {
			t.Errorf("%s: got %v", execution, err)
		}
	}
}

func TestIntegersInTheStateStayIntegers(t *testing.T) {
	e := NewEngine()
	in := inputOf(
		t,
		e,
		files(
			"deployExecutions: [{name: d, type: Spiff, template: {count: (( &state(7) )), deployItems: [{name: i, type: t, config: {apiVersion: v1, kind: C, half: (( count / 2 ))}}]}}]",
		),
	)
	states, err := in.Blueprint.LoadStates(
		"tree",
		map[string]map[string][]byte{dataflow.StateSecret("tree", dataflow.StateDeploy, "d"): {dataflow.StateSecretKey: []byte(`{"count": 9}`)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	in.States = states
	out, err := e.Render(in)
	if err != nil || !strings.Contains(string(out.DeployItems[0].Configuration.Raw), `"half":4`) {
		t.Errorf("got %+v, %v", out, err)
	}
}
