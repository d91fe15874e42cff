// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// secretBindings has the canary in every binding of executions: as a string, inside strings, and as the value of a key.
func secretBindings() map[string]any {
	all := map[string]any{}
	for _, name := range []string{
		"imports", "cd", "components", "blueprint", "blueprintDef", "componentDescriptorDef", "values", "dataobjects", "targets", "deployitems",
	} {
		all[name] = map[string]any{
			"s":      canary,
			"t":      "x: " + canary + ": y",
			"list":   []any{canary},
			"n":      map[string]any{"deep": canary},
			"i":      70397.0,
			"code":   "nowhere." + strings.ReplaceAll(canary, "-", "_"),
			"lambda": "|" + strings.ReplaceAll(canary, "-", "_") + "|->nowhere",
			"named":  []any{map[string]any{"name": canary, "v": "(( nowhere ))"}},
		}
	}
	return all
}

// secretCases are expressions that fail on a secret, one or more per kind of error. B is replaced with the binding.
var secretCases = []string{
	`B.s.x`, `B.s[5]`, `B.list[5].x`, `B.[B.s]`, `B.n.[B.s]`, `B.[[B.s, "x"]]`, `B.list.[B.i]`, `B.[B.n]`, `(B.s).x`, `B.s.[*].x`, `B.s.[0..1]`, `B.list.[B.i..B.i]`, `[B.i..]`, `[B.s..1]`,
	`B.s + 1`, `B.s - B.s`, `B.s * 2`, `B.s / 2`, `B.s % 2`, `B.i / 0`, `B.i % 0`, `B.s < 1`, `B.i < B.s`, `B.s == B.list`, `B.n B.s`, `nil B.s`, `B.s B.n`, `{B.i = 1}`, `B.n < B.n`,
	`B.s(1)`, `B.s()`, `(lambda B.s)(1)`, `(lambda B.code)(1)`, `(lambda B.lambda)(1)`, `(lambda B.lambda)(1, 2)`, `(lambda B.lambda)(x=1)`, `eval(B.s)`, `eval(B.code)`, `eval(B.t)`, `*B.s`, `map[B.s|x|->x]`, `map[B.list|x|->x.y]`, `map{B.named|x|->1}`, `select{B.list|x|->x}`, `sum[B.s|0|s,x|->s]`, `sum[B.list|0|s,x|->s + x]`, `(|x|->x / 0)(B.i)`, `(|x|->x.y)(B.s)`,
	`error(B.s)`, `error("bad: " B.s)`, `error(format("%s", B.s))`, `error(base64(B.s))`, `require(B.missing)`, `stub(B.s)`, `stub(B.list)`, `merge`, `merge B.s`, `B.s...`,
	`join(B.n)`, `join("-", B.n)`, `split(B.n, "a")`, `split(B.s, B.n)`, `split(B.i, B.s, B.s)`, `trim(B.i)`, `trim([B.i])`, `upper(B.n)`, `substr(B.s, 500)`, `substr(B.s, B.s)`, `replace(B.s, B.s, B.n)`, `replace(B.s, "c", |m|->1)`, `replace_match(B.s, "(" B.s, "x")`, `match("(" B.s, B.s)`, `match(B.s, B.n)`, `split_match("[" B.s, "a")`,
	`format("%*d" B.s, 1)`, `format(B.s "%5000d", 1)`, `format(B.n)`, `base64(B.n)`, `base64(B.s, B.s)`, `base64_decode(B.s "*")`, `md5(B.n)`, `hash(B.s, B.s)`, `basename(B.i)`, `parseurl(":" B.s)`, `length(B.i)`, `contains(B.i, 1)`, `contains(B.s, B.n)`, `index(B.i, 1)`, `uniq(B.s)`, `element(B.s, 1)`, `element(B.list, B.s)`, `element(B.list, B.i)`, `element(B.n, B.s)`, `compact(B.s)`, `sort(B.s)`, `sort([B.s, 1])`, `sort(B.list, B.s)`, `reverse(B.s)`, `keys(B.s)`, `makemap(B.s)`, `makemap(B.list)`, `makemap(B.n, 1)`, `list_to_map(B.list)`, `list_to_map(B.s)`, `list_to_map(B.list, B.s)`, `intersect(B.s)`, `merge(B.s)`, `merge(B.n, B.s)`,
	`string(B.n)`, `string(B.s, B.s)`, `integer(B.s)`, `float(B.s)`, `bool(B.s)`, `sqrt(B.s)`, `sqrt(0 - B.i)`, `parse(B.t)`, `parse(B.s, B.s)`, `parse(B.i)`, `read(B.s)`, `read("../" B.s)`, `read("VERSION", B.s)`, `read(B.i)`, `read("http://" B.s)`, `min_ip(B.s)`, `contains_ip("10.0.0.0/8", B.s)`, `semver(B.s)`, `semvermatch("1.2.3", B.s)`, `semvercmp(B.s, "1.2.3")`, `semversort([B.s])`, `semverprerelease("1.2.3", B.s "~")`,
	`validate(B.s, "ip")`, `validate("x", B.s)`, `validate(B.s, [B.s, B.s])`, `check(B.i, ["gt", B.s])`, `validate(B.s, |x|->[false, "", x])`, `check(B.s, ["match", "(" B.s])`, `validate(B.n, ["mapfield", B.s])`, `validate(B.s, ["semver", B.s])`, `check(B.list, ["list", B.s])`, `check(B.s, (lambda B.lambda))`, `validate(B.s, ["valueset", ["x"]])`,
	`error("%s", B.s)`, `error(B.s ? B.s :"x")`, `error(join(",", ["x", B.s]))`, `env(B.s)`, `exec(B.s)`, `rand(B.s)`, `decrypt(B.s, B.s)`, `leak(B.s)`, `wraps(B.s)`, `panics(B.s)`, `nosuch(B.s)`, `catch[B.s.x|v,e|->v.y]`, `defined(B.s, x=1)`, `valid(x=B.s)`,
	`[1..1000000000]`, `sum[[1..1000]|B.s|s,x|->s s]`, `map[[1..1000000]|i|->B.s]`,
}

var leaking = map[string]Function{
	"leak": func(args []any) (any, error) { return nil, fmt.Errorf("cannot digest %v", args) },
	"wraps": func(args []any) (any, error) {
		return nil, errors.Join(fmt.Errorf("about %v", args), template.Problemf("no"))
	},
	"panics": func(args []any) (any, error) { panic(args) },
}

func TestNoSecretGetsIntoAnError(t *testing.T) {
	hidden := []string{canary, strings.ReplaceAll(canary, "-", "_"), "Y2FuYXJ5LTdmM2E5Yw", "70397"}
	for name := range secretBindings() {
		for _, expression := range secretCases {
			expression = strings.ReplaceAll(expression, "B.", name+".")
			for _, tree := range []any{
				map[string]any{"a": "(( " + expression + " ))"},
				map[string]any{"l": []any{map[string]any{"name": "(( " + name + ".s ))", "a": "(( " + expression + " ))"}}},
				map[string]any{"t": map[string]any{"<<": "(( &template ))", "v": "(( " + expression + " ))"}, "a": "(( *t ))"},
			} {
				err := evaluateTree(tree)
				if err == nil {
					t.Errorf("%s does not fail", expression)
				}
				for inner := err; inner != nil; inner = errors.Unwrap(inner) {
					shown := fmt.Sprintf("%v|%+v", inner, inner)
					for _, secret := range hidden {
						if strings.Contains(shown, secret) {
							t.Errorf("%s: the error tells a secret: %s", expression, shown)
						}
					}
				}
			}
		}
	}
}

func evaluateTree(tree any) error {
	compiled, err := CompileTree(template.Source{Execution: "test"}, tree, Options{Limits: tight})
	if err != nil {
		return err
	}
	_, err = compiled.Evaluate(Input{
		Bindings: secretBindings(), Functions: leaking, Files: files, State: map[string]any{"l": []any{map[string]any{"name": canary}}},
	})
	return err
}

// An error must be useful even though it shows no values.
func TestErrorsAreUseful(t *testing.T) {
	for _, expression := range secretCases {
		expression = strings.ReplaceAll(expression, "B.", "imports.")
		err := evaluateTree(map[string]any{"a": "(( " + expression + " ))"})
		var failed *template.Error
		if !errors.As(err, &failed) {
			t.Fatalf("%s: %v", expression, err)
		}
		if failed.Place.Path != "a" || failed.Message == "" || failed.Message == "the template cannot be evaluated here" {
			t.Errorf("%s: the error says little: %+v %q", expression, failed.Place, failed.Message)
		}
	}
}
