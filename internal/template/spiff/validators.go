// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"cmp"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"espalier.dev/internal/template/keys"
)

// validator reports whether a value meets a condition. The arguments are those after the name of the condition in a list.
type validator func(c *invocation, v value, args []value) (bool, error)

// validators are the named conditions of the functions validate and check.
var validators map[string]validator

// The table is set here because its functions use the table.
func init() {
	validators = map[string]validator{
		"": holdAll, "and": holdAll, "not": holdAll, "or": holdOne,
		"list": everyItem, "map": everyEntry, "mapfield": hasField(false), "optionalfield": hasField(true),
		"empty": isEmpty, "type": hasType, "valueset": isOneOf, "value": isEqual, "=": isEqual,
		"gt": comparesAs(isGreater), ">": comparesAs(isGreater), "ge": comparesAs(isNotLess), ">=": comparesAs(isNotLess),
		"lt": comparesAs(isLess), "<": comparesAs(isLess), "le": comparesAs(isNotGreater), "<=": comparesAs(isNotGreater),
		"match": matches, "~=": matches, "semver": isVersion,
		"dnsname": textHas(isDNSName), "dnslabel": textHas(isDNSLabel), "dnsdomain": textHas(isDNSDomain),
		"wildcarddnsdomain": textHas(isWildcardDomain), "ip": textHas(isAddress), "cidr": textHas(isNetwork),
		"publickey": textHas(isPEM(keys.ParsePublic)), "privatekey": textHas(isPEM(keys.ParsePrivate)),
		"certificate": textHas(isPEM(keys.ParseCertificate)), "ca": textHas(isAuthority),
	}
}

// costOfCondition is the cost of evaluating a condition in steps.
const costOfCondition = 6

// callValidate returns its first argument if it meets the conditions in the other ones.
func callValidate(c *invocation) (value, error) {
	failed, err := c.firstUnmet()
	switch {
	case err != nil:
		return nil, err
	case failed == 0:
		return c.args[0], nil
	}
	if c.complaint != "" {
		return nil, refusal("function validate: condition "+strconv.Itoa(failed)+": "+c.complaint, true)
	}
	return nil, problem("function validate: the value does not meet condition %d%s", failed, named(c.args[failed]))
}

// callCheck reports whether its first argument meets the conditions in the other ones.
func callCheck(c *invocation) (value, error) {
	failed, err := c.firstUnmet()
	return failed == 0, err
}

// firstUnmet returns the number of the first condition that the first argument does not meet, or zero.
func (c *invocation) firstUnmet() (int, error) {
	if err := c.takes(2, -1); err != nil {
		return 0, err
	}
	for i, condition := range c.args[1:] {
		met, err := c.meets(c.args[0], condition)
		if err != nil {
			return 0, err
		}
		if !met {
			return i + 1, nil
		}
	}
	return 0, nil
}

// named returns the name of an evaluated condition, unless it is a lambda. Only names of the language get here; others are
// errors.
func named(condition value) string {
	name, _ := splitCondition(condition)
	text, _ := name.(string)
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// splitCondition returns a condition without its arguments, and the arguments.
func splitCondition(condition value) (value, []value) {
	l, ok := condition.(*list)
	if !ok || len(l.cells) == 0 {
		return condition, nil
	}
	args := make([]value, 0, len(l.cells)-1)
	for _, c := range l.cells[1:] {
		args = append(args, c.value)
	}
	return l.cells[0].value, args
}

// meets reports whether a value meets a condition: a name, a lambda, or a list of one of these and its arguments.
func (c *invocation) meets(v, condition value) (bool, error) {
	if err := c.env.run.meter.Enter(); err != nil {
		return false, err
	}
	defer c.env.run.meter.Leave()
	kind, args := splitCondition(condition)
	if err := c.env.run.meter.Step(costOfCondition + int64(len(args))); err != nil {
		return false, err
	}
	switch kind := kind.(type) {
	case nil:
		return true, nil
	case string:
		return c.meetsNamed(v, kind, args)
	case *lambda:
		return c.meetsLambda(v, kind, args)
	}
	return false, problem(
		"function %s: a condition must be a name, a lambda or a list that begins with one, not a value of type %s",
		c.name,
		typeOf(kind),
	)
}

func (c *invocation) meetsNamed(v value, name string, args []value) (bool, error) {
	name, negated := strings.CutPrefix(name, "!")
	check := validators[name]
	if check == nil || name == "" && !negated {
		return false, problem("function %s: there is no condition of this name", c.name)
	}
	met, err := check(c, v, args)
	if err != nil {
		return false, err
	}
	return met != (negated != (name == "not")), nil
}

// meetsLambda calls a lambda with the value and the arguments. The lambda returns a truth value, or a list that starts with
// one; the messages that may follow are shown only if they consist of template text.
func (c *invocation) meetsLambda(v value, l *lambda, args []value) (bool, error) {
	if len(l.parameters) != len(args)+1 {
		return false, problem("function %s: the lambda of a condition takes %d arguments, not %d", c.name, len(l.parameters), len(args)+1)
	}
	out, err := l.call(c.env, arguments{positional: append([]value{v}, args...)})
	if err != nil {
		return false, err
	}
	told, ok := out.value.(*list)
	if !ok {
		return truth(out.value), nil
	}
	items, err := told.items()
	if err != nil {
		return false, err
	}
	if len(items) == 0 || len(items) > 3 {
		return false, problem("function %s: a list that the lambda of a condition yields must have one to three items", c.name)
	}
	if text, isText := items[len(items)-1].value.(string); isText && !truth(items[0].value) && l.tellsLiterally(c.env.run, len(items)) {
		c.complaint = text
	}
	return truth(items[0].value), nil
}

// tellsLiterally reports whether the last of the items that a lambda returns is a message that consists of template text.
func (l *lambda) tellsLiterally(r *run, items int) bool {
	if l.node != nil && l.node.hidden || items < 2 {
		return false
	}
	body := l.body
	for {
		group, ok := body.(*grouped)
		if !ok {
			break
		}
		body = group.inner
	}
	told, ok := body.(*listing)
	return ok && len(told.items) == items && !told.items[items-1].expanded && r.constant(told.items[items-1].expr)
}

// needs checks the number of arguments of a condition.
func (c *invocation) needs(args []value, least, most int) error {
	if len(args) < least || len(args) > most {
		return problem("function %s: a condition does not take %d arguments", c.name, len(args))
	}
	return nil
}

// holdAll reports whether a value meets all conditions among the arguments.
func holdAll(c *invocation, v value, args []value) (bool, error) {
	if len(args) == 0 {
		return false, problem("function %s: a condition needs an argument", c.name)
	}
	for _, condition := range args {
		if met, err := c.meets(v, condition); err != nil || !met {
			return false, err
		}
	}
	return true, nil
}

// holdOne reports whether a value meets one of the conditions among the arguments.
func holdOne(c *invocation, v value, args []value) (bool, error) {
	if len(args) == 0 {
		return false, problem("function %s: a condition needs an argument", c.name)
	}
	for _, condition := range args {
		if met, err := c.meets(v, condition); err != nil || met {
			return met, err
		}
	}
	return false, nil
}

// everyItem reports whether a value is a list and its items meet the conditions.
func everyItem(c *invocation, v value, args []value) (bool, error) {
	l, ok := v.(*list)
	if !ok || len(args) == 0 {
		return ok, nil
	}
	items, err := l.items()
	if err != nil {
		return false, err
	}
	for _, item := range items {
		if met, err := holdAll(c, item.value, args); err != nil || !met {
			return false, err
		}
	}
	return true, nil
}

// everyEntry reports whether a value is a map whose entries meet a condition, and whose keys meet an optional other
// condition given before it.
func everyEntry(c *invocation, v value, args []value) (bool, error) {
	d, ok := v.(*dict)
	if !ok || len(args) == 0 {
		return ok, nil
	}
	if err := c.needs(args, 1, 2); err != nil {
		return false, err
	}
	for _, name := range d.all() {
		if len(args) == 2 {
			if met, err := c.meets(name, args[0]); err != nil || !met {
				return false, err
			}
		}
		if met, err := c.meets(d.get(name).value, args[len(args)-1]); err != nil || !met {
			return false, err
		}
	}
	return true, nil
}

// hasField returns a condition that a value is a map with a field, which must meet a condition if one is given.
func hasField(optional bool) validator {
	return func(c *invocation, v value, args []value) (bool, error) {
		d, ok := v.(*dict)
		if !ok {
			return false, nil
		}
		return c.fieldMeets(d, args, optional)
	}
}

func (c *invocation) fieldMeets(d *dict, args []value, optional bool) (bool, error) {
	if err := c.needs(args, 1, 2); err != nil {
		return false, err
	}
	name, ok := args[0].(string)
	if !ok {
		return false, problem("function %s: the name of a field must be a string, not a value of type %s", c.name, typeOf(args[0]))
	}
	field := d.get(name)
	if field == nil || field.undefined {
		return optional, nil
	}
	if len(args) == 1 {
		return true, nil
	}
	return c.meets(field.value, args[1])
}

// isEmpty reports whether a string, a list or a map is empty.
func isEmpty(c *invocation, v value, _ []value) (bool, error) {
	switch v.(type) {
	case string, *list, *dict:
		return !truth(v), nil
	}
	return false, problem("function %s: a value of type %s is neither a string, a list nor a map", c.name, typeOf(v))
}

// hasType reports whether a value is of one of the types.
func hasType(c *invocation, v value, args []value) (bool, error) {
	for _, arg := range args {
		name, ok := arg.(string)
		if !ok {
			return false, problem("function %s: the name of a type must be a string, not a value of type %s", c.name, typeOf(arg))
		}
		if name == typeOf(v) {
			return true, nil
		}
	}
	return false, nil
}

// isOneOf reports whether a value is in a list.
func isOneOf(c *invocation, v value, args []value) (bool, error) {
	if err := c.needs(args, 1, 1); err != nil {
		return false, err
	}
	l, ok := args[0].(*list)
	if !ok {
		return false, problem("function %s: the possible values must be a list, not a value of type %s", c.name, typeOf(args[0]))
	}
	for _, possible := range l.cells {
		same, err := c.env.run.equal(v, possible.value)
		if same || uncaught(err) != nil {
			return same, uncaught(err)
		}
	}
	return false, nil
}

func isEqual(c *invocation, v value, args []value) (bool, error) {
	if err := c.needs(args, 1, 1); err != nil {
		return false, err
	}
	same, err := c.env.run.equal(args[0], v)
	return same, uncaught(err)
}

func isGreater(order int) bool    { return order > 0 }
func isNotLess(order int) bool    { return order >= 0 }
func isLess(order int) bool       { return order < 0 }
func isNotGreater(order int) bool { return order <= 0 }

// comparesAs returns a condition that compares a value with a bound. Both must be strings, or both numbers.
func comparesAs(accept func(order int) bool) validator {
	return func(c *invocation, v value, args []value) (bool, error) {
		if err := c.needs(args, 1, 1); err != nil {
			return false, err
		}
		if a, ok := v.(string); ok {
			if b, ok := args[0].(string); ok {
				return accept(strings.Compare(a, b)), c.env.run.meter.Read(int64(min(len(a), len(b))))
			}
		}
		if a, ok := v.(int64); ok {
			if b, ok := args[0].(int64); ok {
				return accept(cmp.Compare(a, b)), nil
			}
		}
		a, ok := fraction(v)
		b, alsoOK := fraction(args[0])
		if !ok || !alsoOK {
			return false, problem("function %s: a value of type %s cannot be compared with one of type %s", c.name, typeOf(v), typeOf(args[0]))
		}
		return accept(cmp.Compare(a, b)), nil
	}
}

func fraction(v value) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// matches reports whether a string matches a regular expression.
func matches(c *invocation, v value, args []value) (bool, error) {
	if err := c.needs(args, 1, 1); err != nil {
		return false, err
	}
	text, ok := v.(string)
	pattern, alsoOK := args[0].(string)
	if !ok || !alsoOK {
		return false, problem("function %s: only a string can be matched with a regular expression, which is a string", c.name)
	}
	expression, err := c.env.run.meter.Regexp(pattern, text)
	if err != nil {
		return false, c.explain(err)
	}
	return expression.MatchString(text), nil
}

// isVersion reports whether a value is a semantic version that satisfies the version constraints.
func isVersion(c *invocation, v value, args []value) (bool, error) {
	version := &invocation{env: c.env, name: c.name, args: append([]value{v}, args...)}
	if _, ok := v.(string); !ok {
		return false, nil
	}
	text, err := version.versionText(0)
	if err != nil {
		return false, err
	}
	parsed, invalid := semver.NewVersion(text)
	for i := range args {
		text, err := version.versionText(i + 1)
		if err != nil {
			return false, err
		}
		constraint, malformed := semver.NewConstraint(text)
		if malformed != nil {
			return false, problem("function %s: a condition on a version cannot be read", c.name)
		}
		if invalid == nil && !constraint.Check(parsed) {
			return false, nil
		}
	}
	return invalid == nil, nil
}

// textHas returns a condition on strings.
func textHas(property func(string) bool) validator {
	return func(c *invocation, v value, _ []value) (bool, error) {
		text, ok := v.(string)
		if !ok {
			return false, problem("function %s: the condition applies to strings only, not to a value of type %s", c.name, typeOf(v))
		}
		return property(text), c.env.run.meter.Step(costOfContext)
	}
}

// The forms of DNS names, and their maximum lengths.
var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsDomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

const (
	longestLabel  = 63
	longestDomain = 253
)

func isDNSLabel(text string) bool  { return len(text) <= longestLabel && dnsLabel.MatchString(text) }
func isDNSDomain(text string) bool { return len(text) <= longestDomain && dnsDomain.MatchString(text) }
func isDNSName(text string) bool   { return isDNSDomain(text) || isWildcardDomain(text) }

func isWildcardDomain(text string) bool {
	domain, ok := strings.CutPrefix(text, "*.")
	return ok && len(text) <= longestDomain && isDNSDomain(domain)
}

func isAddress(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

func isNetwork(text string) bool {
	_, err := netip.ParsePrefix(text)
	return err == nil
}
