// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"encoding/json"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// callType returns the name of the type of a value.
func callType(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	if c.told.undefined {
		return "undef", nil
	}
	return typeOf(c.args[0]), nil
}

// callString formats a simple value; an integer can be formatted in another base.
func callString(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	n, isInteger := c.args[0].(int64)
	if len(c.args) == 2 {
		base, err := c.integer(1)
		if err != nil {
			return nil, err
		}
		if !isInteger || base < 2 || base > 36 {
			return nil, problem("function string: only an integer can be written in a base, which is from 2 to 36")
		}
		return strconv.FormatInt(n, int(base)), nil
	}
	if f, ok := c.args[0].(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	}
	text, ok := simpleText(c.args[0])
	if !ok {
		return nil, c.wrong(0, "a simple value")
	}
	return text, nil
}

func callInteger(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	switch v := c.args[0].(type) {
	case int64:
		return v, nil
	case float64:
		return int64(v), nil
	case bool:
		return truthNumber(v), nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, nil
		}
		return nil, problem("function integer: the string is not an integer")
	}
	return nil, c.wrong(0, "a simple value")
}

func truthNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func callFloat(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	switch v := c.args[0].(type) {
	case bool:
		return float64(truthNumber(v)), nil
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, problem("function float: the string is not a number")
	}
	if f, ok := number(c.args[0]); ok {
		return f, nil
	}
	return nil, c.wrong(0, "a simple value")
}

func callBool(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	switch v := c.args[0].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case string:
		if v == "" {
			return false, nil
		}
		if b, err := strconv.ParseBool(v); err == nil {
			return b, nil
		}
		return nil, problem("function bool: the string is not a boolean")
	}
	return nil, c.wrong(0, "a simple value")
}

// mathFunctions are the functions of one number.
var mathFunctions = map[string]func(float64) float64{
	"floor": math.Floor, "ceil": math.Ceil, "round": math.Round, "roundtoeven": math.RoundToEven, "abs": math.Abs,
	"sin": math.Sin, "cos": math.Cos, "sinh": math.Sinh, "cosh": math.Cosh, "asin": math.Asin, "acos": math.Acos,
	"asinh": math.Asinh, "acosh": math.Acosh, "sqrt": math.Sqrt, "exp": math.Exp, "log": math.Log, "log10": math.Log10,
}

// integral are the functions that return integers.
var integral = []string{"floor", "ceil", "round", "roundtoeven"}

func mathFunction(name string, function func(float64) float64) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(1, 1); err != nil {
			return nil, err
		}
		n, isInteger := c.args[0].(int64)
		whole := slices.Contains(integral, name)
		switch {
		case isInteger && whole:
			return n, nil
		case isInteger && name == "abs":
			return max(n, -n), nil
		}
		x, ok := number(c.args[0])
		if !ok {
			return nil, c.wrong(0, "a number")
		}
		y := function(x)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return nil, problem("function %s has no result for this number", name)
		}
		if whole {
			return int64(y), nil
		}
		return y, nil
	}
}

func callAsJSON(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	plain, err := c.plain(0)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, problem("function asjson: the value has no JSON form")
	}
	if err := c.env.run.meter.Step(int64(len(text)) / bytesPerStep); err != nil {
		return nil, err
	}
	return string(text), c.build(int64(len(text)))
}

func callAsYAML(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	return c.yaml(0)
}

// yaml encodes an argument as YAML.
func (c *invocation) yaml(index int) (string, error) {
	plain, err := c.plain(index)
	if err != nil {
		return "", err
	}
	if err := c.env.run.meter.WriteYAML(plain); err != nil {
		return "", c.explain(err)
	}
	text, err := asBlock(plain)
	if err != nil {
		return "", c.explain(err)
	}
	return text, c.build(int64(len(text)))
}

// callParse parses YAML or JSON. The result is data: expressions in it are not evaluated.
func callParse(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	mode := "import"
	if len(c.args) == 2 {
		if mode, err = c.text(1); err != nil {
			return nil, err
		}
	}
	switch mode {
	case "import", "yaml":
	case "text":
		return text, nil
	case "template":
		return c.template(text, true)
	case "multiyaml", "importmulti":
		return c.documents(text)
	default:
		return nil, problem("function parse: the mode must be import, yaml, multiyaml, importmulti, template or text")
	}
	plain, err := c.env.run.meter.DecodeYAML(text)
	if err != nil {
		return nil, c.explain(err)
	}
	return c.taken(fromPlain(plain))
}

// documents parses all documents of a text. The result is data.
func (c *invocation) documents(text string) (value, error) {
	plain, err := c.env.run.meter.DecodeYAMLDocuments(text)
	if err != nil {
		return nil, c.explain(err)
	}
	return c.taken(fromPlain(plain))
}

// template compiles a text to a template. If the text is not a file of the blueprint, errors show nothing of it.
func (c *invocation) template(text string, hidden bool) (*blank, error) {
	plain, err := c.env.run.meter.DecodeYAML(text)
	if err != nil {
		return nil, c.explain(err)
	}
	return c.compiled(plain, hidden)
}

func (c *invocation) compiled(plain any, hidden bool) (*blank, error) {
	compiled, failed := (&compiler{meter: c.env.run.meter, hidden: hidden}).node(plain, "", 0)
	if failed != nil && hidden {
		return nil, problem("function %s: the text is not a template", c.name)
	}
	if failed != nil {
		return nil, c.explain(failed.cause)
	}
	return &blank{compiled, plain, c.env}, nil
}

// taken returns the value of a cell created from a plain value.
func (c *invocation) taken(made *cell) (value, error) { return made.value, made.force() }

// callRead reads a file of the blueprint: as text, or as YAML whose expressions are evaluated here.
func callRead(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	name, err := c.text(0)
	if err != nil {
		return nil, err
	}
	if strings.Contains(name, "://") {
		return nil, problem("function read: only files of the blueprint can be read")
	}
	mode := "text"
	for _, ending := range []string{".yml", ".yaml", ".json"} {
		if strings.HasSuffix(name, ending) {
			mode = "yaml"
		}
	}
	if len(c.args) == 2 {
		if mode, err = c.text(1); err != nil {
			return nil, err
		}
	}
	content, err := c.env.run.files.Read(name)
	if err != nil {
		return nil, c.explain(err)
	}
	return c.interpret(content, mode)
}

// interpret converts the content of a file to a value.
func (c *invocation) interpret(content, mode string) (value, error) {
	switch mode {
	case "text":
		return content, nil
	case "binary":
		encoded := &invocation{env: c.env, name: c.name, args: []value{content, int64(60)}}
		return callBase64(encoded)
	case "template":
		return c.template(content, false)
	case "importmulti":
		return c.documents(content)
	case "multiyaml":
		plain, err := c.env.run.meter.DecodeYAMLDocuments(content)
		if err != nil {
			return nil, c.explain(err)
		}
		return c.evaluated(plain)
	case "yaml", "import":
		plain, err := c.env.run.meter.DecodeYAML(content)
		if err != nil {
			return nil, c.explain(err)
		}
		return c.evaluated(plain)
	}
	return nil, problem("function read: the mode must be yaml, import, multiyaml, importmulti, template, text or binary")
}

// evaluated evaluates the content of a file here.
func (c *invocation) evaluated(plain any) (value, error) {
	b, err := c.compiled(plain, false)
	if err != nil {
		return nil, err
	}
	out, err := c.env.instantiate(b)
	return out.value, err
}

// listFunction returns a function that lists the files, or the directories, in a directory of the blueprint.
func listFunction(directories bool) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(1, 1); err != nil {
			return nil, err
		}
		name, err := c.text(0)
		if err != nil {
			return nil, err
		}
		entries, err := c.env.run.files.List(name)
		if err != nil {
			return nil, c.explain(err)
		}
		var names []string
		for _, entry := range entries {
			if entry.IsDir == directories {
				names = append(names, entry.Name)
			}
		}
		return c.texts(names)
	}
}

// lookupFunction returns a function that finds the directories of the blueprint, among some, that contain a given file or
// directory.
func lookupFunction(directories bool) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(2, -1); err != nil {
			return nil, err
		}
		name, err := c.text(0)
		if err != nil {
			return nil, err
		}
		candidates := []string{name}
		if !strings.HasPrefix(name, "/") {
			if candidates, err = c.below(name); err != nil {
				return nil, err
			}
		}
		var found []string
		for _, candidate := range candidates {
			there, err := c.env.run.files.Has(candidate, directories)
			if err != nil {
				return nil, err
			}
			if there {
				found = append(found, candidate)
			}
		}
		return c.texts(found)
	}
}

// below returns the paths of a name in the directories given by the other arguments, or by lists among them.
func (c *invocation) below(name string) ([]string, error) {
	var paths []string
	for i := 1; i < len(c.args); i++ {
		l, ok := c.args[i].(*list)
		if !ok {
			l = newList([]value{c.args[i]})
		}
		for _, item := range l.cells {
			directory, ok := item.value.(string)
			if !ok && item.value != nil {
				return nil, c.wrong(i, "a string or a list of strings")
			}
			if directory != "" {
				paths = append(paths, directory+"/"+name)
			}
		}
	}
	return paths, nil
}

// networkFunction converts a function of a network to a function of the engine.
func networkFunction(tell func(netip.Prefix) value) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(1, 1); err != nil {
			return nil, err
		}
		network, err := c.network(0)
		if err != nil {
			return nil, err
		}
		return tell(network), nil
	}
}

func (c *invocation) network(index int) (netip.Prefix, error) {
	text, err := c.text(index)
	if err != nil {
		return netip.Prefix{}, err
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, problem("function %s: argument %d must be a network in CIDR notation", c.name, index+1)
	}
	return network, nil
}

func firstOfNetwork(network netip.Prefix) value { return network.Masked().Addr().String() }
func lastOfNetwork(network netip.Prefix) value  { return lastAddress(network).String() }
func sizeOfNetwork(network netip.Prefix) value  { return networkSize(network) }

func callContainsIP(c *invocation) (value, error) {
	if err := c.takes(2, 2); err != nil {
		return nil, err
	}
	network, err := c.network(0)
	if err != nil {
		return nil, err
	}
	text, err := c.text(1)
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return nil, problem("function contains_ip: argument 2 must be an IP address")
	}
	return network.Contains(address.Unmap()), nil
}

const (
	// maxVersion is the maximum length of a version or of a version constraint.
	maxVersion = 256
	// costOfVersion is the cost of parsing one in steps.
	costOfVersion = 50
)

// versionText returns an argument that is a version or a version constraint.
func (c *invocation) versionText(index int) (string, error) {
	text, err := c.text(index)
	if err != nil {
		return "", err
	}
	if len(text) > maxVersion {
		return "", problem("function %s: a version is longer than %d bytes", c.name, maxVersion)
	}
	return text, c.env.run.meter.Step(costOfVersion)
}

func (c *invocation) version(index int) (*semver.Version, error) {
	text, err := c.versionText(index)
	if err != nil {
		return nil, err
	}
	return c.parseVersion(text)
}

func (c *invocation) parseVersion(text string) (*semver.Version, error) {
	parsed, err := semver.NewVersion(text)
	if err != nil {
		return nil, problem("function %s: the string is not a semantic version", c.name)
	}
	return parsed, nil
}

func versionFunction(tell func(*semver.Version) value) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(1, 1); err != nil {
			return nil, err
		}
		parsed, err := c.version(0)
		if err != nil {
			return nil, err
		}
		return tell(parsed), nil
	}
}

func versionNormal(v *semver.Version) value   { return v.String() }
func versionMajor(v *semver.Version) value    { return int64(v.Major()) }
func versionMinor(v *semver.Version) value    { return int64(v.Minor()) }
func versionPatch(v *semver.Version) value    { return int64(v.Patch()) }
func versionIncMajor(v *semver.Version) value { next := v.IncMajor(); return next.Original() }
func versionIncMinor(v *semver.Version) value { next := v.IncMinor(); return next.Original() }
func versionIncPatch(v *semver.Version) value { next := v.IncPatch(); return next.Original() }

// changed returns one part of a version, or the version with that part set to the second argument.
func (c *invocation) changed(part func(*semver.Version) string, set func(*semver.Version, string) (semver.Version, error)) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	parsed, err := c.version(0)
	if err != nil || len(c.args) == 1 {
		if err != nil {
			return nil, err
		}
		return part(parsed), nil
	}
	text, err := c.versionText(1)
	if err != nil {
		return nil, err
	}
	next, err := set(parsed, text)
	if err != nil {
		return nil, problem("function %s: the string cannot be a part of a semantic version", c.name)
	}
	return next.Original(), nil
}

func callVersionPrerelease(c *invocation) (value, error) {
	return c.changed(
		(*semver.Version).Prerelease,
		func(v *semver.Version, text string) (semver.Version, error) { return v.SetPrerelease(text) },
	)
}

func callVersionMetadata(c *invocation) (value, error) {
	return c.changed((*semver.Version).Metadata, func(v *semver.Version, text string) (semver.Version, error) { return v.SetMetadata(text) })
}

// callVersionRelease returns a version without its suffixes, or with the numbers of another one.
func callVersionRelease(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	parsed, err := c.version(0)
	if err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		return withSuffixes(*parsed, "", ""), nil
	}
	numbers, err := c.version(1)
	if err != nil {
		return nil, err
	}
	return withSuffixes(*numbers, parsed.Prerelease(), parsed.Metadata()), nil
}

// withSuffixes formats a version with other suffixes, which come from a version and are valid. A leading v stays.
func withSuffixes(v semver.Version, prerelease, metadata string) value {
	v, _ = v.SetPrerelease(prerelease)
	v, _ = v.SetMetadata(metadata)
	return v.Original()
}

func callVersionCompare(c *invocation) (value, error) {
	if err := c.takes(2, 2); err != nil {
		return nil, err
	}
	a, err := c.version(0)
	if err != nil {
		return nil, err
	}
	b, err := c.version(1)
	if err != nil {
		return nil, err
	}
	return int64(a.Compare(b)), nil
}

// callVersionMatch reports whether a version satisfies all constraints.
func callVersionMatch(c *invocation) (value, error) {
	if err := c.takes(1, -1); err != nil {
		return nil, err
	}
	parsed, err := c.version(0)
	if err != nil {
		return nil, err
	}
	for i := range c.args[1:] {
		text, err := c.versionText(i + 1)
		if err != nil {
			return nil, err
		}
		condition, err := semver.NewConstraint(text)
		if err != nil {
			return nil, problem("function %s: argument %d is not a condition on a version", c.name, i+2)
		}
		if !condition.Check(parsed) {
			return false, nil
		}
	}
	return true, nil
}

// callVersionValidate returns a version if it satisfies all constraints, and fails otherwise.
func callVersionValidate(c *invocation) (value, error) {
	met, err := callVersionMatch(c)
	if err != nil {
		return nil, err
	}
	if met == false {
		return nil, problem("function semvervalidate: the version does not meet the conditions")
	}
	return c.args[0], nil
}

// callVersionSort sorts versions, given as arguments or as a list.
func callVersionSort(c *invocation) (value, error) {
	args := c.args
	if len(args) == 1 {
		if l, ok := args[0].(*list); ok {
			args = nil
			for _, item := range l.cells {
				args = append(args, item.value)
			}
		}
	}
	sorted := &invocation{env: c.env, name: c.name, args: args}
	versions := make([]*semver.Version, len(args))
	for i := range args {
		parsed, err := sorted.version(i)
		if err != nil {
			return nil, err
		}
		versions[i] = parsed
	}
	slices.SortStableFunc(versions, (*semver.Version).Compare)
	texts := make([]string, len(versions))
	for i, v := range versions {
		texts[i] = v.Original()
	}
	return c.texts(texts)
}
