// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The reasons for which functions and words of the language are rejected, and what to do instead. They complete the
// sentence "not available in blueprints because".
const (
	becauseEnvironment = "a blueprint must not depend on the environment of the process that evaluates it; import the value instead"
	becauseOutside     = "a template must not start programs or write files; import the result instead"
	becauseClusters    = "only templates of executions reach the clusters of Targets; call it in one, or import the kubeconfig instead"
	becauseNoState     = "nothing is stored here: only deploy, subinstallation and export executions have a state; import the value instead"
	becauseNotKept     = "its result differs every time: mark the value at the root of the template as state, as in (( &state(rand(\"[:alnum:]\", 20)) )), and refer to it"
	becauseClock       = "its result contains the time, and evaluation must be deterministic; use a file of the blueprint or a resource of the component instead"
	becauseWaiting     = "nothing changes while a template is evaluated; let the readiness checks of a deploy item wait instead"
	becauseTags        = "the tags are known only after everything is evaluated; mark the value instead, as in (( &tag:name(value) ))"
	becauseNoNode      = "only nodes of the template itself can have tags"
)

// refused maps functions of the original language to the reason why they are missing here.
var refused = refusals(map[string]string{
	becauseEnvironment: "env features",
	becauseOutside:     "exec exec_uncached pipe pipe_uncached write tempfile mkdir",
	becauseClusters: `getShootAdminKubeconfig getShootAdminKubeconfigWithExpirationTimestamp getServiceAccountKubeconfig
		getServiceAccountKubeconfigWithExpirationTimestamp getOidcKubeconfig`,
	becauseClock:   "archive",
	becauseWaiting: "sync",
	becauseTags:    "tagdef",
})

func refusals(reasons map[string]string) map[string]string {
	byName := map[string]string{}
	for reason, names := range reasons {
		for _, name := range strings.Fields(names) {
			byName[name] = reason
		}
	}
	return byName
}

// refusalOf returns why a function cannot be called, either at all or because there is no state; empty if it can.
func refusalOf(name string, state bool) string {
	switch {
	case refused[name] != "":
		return fmt.Sprintf("function %s is not available in blueprints because %s", name, refused[name])
	case generators[name] != nil && !state:
		return fmt.Sprintf("function %s is not available here because %s", name, becauseNoState)
	}
	return ""
}

// Refusals explains, for each function that occurs in the template and is none of the given ones, why a call would fail:
// always, or because there is no state.
func (t *Template) Refusals(state bool, added []string) []string {
	found := map[string]bool{}
	t.root.each(func(s *source) {
		visit(s.expr, func(x expr) {
			if c, ok := x.(*call); ok && !slices.Contains(added, c.functionName()) {
				found[refusalOf(c.functionName(), state)] = true
			}
		})
	})
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// Functions returns the names of the functions that occur in the template, sorted.
func (t *Template) Functions() []string {
	found := map[string]bool{}
	t.root.each(func(s *source) {
		visit(s.expr, func(x expr) {
			if c, ok := x.(*call); ok && c.functionName() != "" {
				found[c.functionName()] = true
			}
		})
	})
	return slices.Sorted(maps.Keys(found))
}

// builtins are the functions of the engine.
var builtins map[string]builtin

// The table is set here because its functions call lambdas, whose bodies use the table.
func init() {
	builtins = map[string]builtin{
		"join": callJoin, "split": callSplit, "split_match": callSplitMatch, "trim": callTrim,
		"upper": textFunction(strings.ToUpper), "lower": textFunction(strings.ToLower),
		"substr": callSubstr, "replace": callReplace, "replace_match": callReplaceMatch, "match": callMatch,
		"format": callFormat, "base64": callBase64, "base64_decode": callBase64Decode, "md5": callMD5, "hash": callHash,
		"basename": callBasename, "dirname": callDirname, "parseurl": callParseURL,

		"length": callLength, "contains": callContains, "index": indexFunction(true), "lastindex": indexFunction(false),
		"uniq": callUniq, "element": callElement, "compact": callCompact, "sort": callSort, "reverse": callReverse,
		"keys": callKeys, "makemap": callMakemap, "list_to_map": callListToMap, "intersect": callIntersect,
		"merge": callMerge,

		"type": callType, "string": callString, "integer": callInteger, "float": callFloat, "bool": callBool,
		"asjson": callAsJSON, "asyaml": callAsYAML, "parse": callParse, "read": callRead, "read_uncached": callRead,
		"list_files": listFunction(
			false,
		), "list_dirs": listFunction(true), "lookup_file": lookupFunction(false), "lookup_dir": lookupFunction(true),

		"min_ip": networkFunction(firstOfNetwork), "max_ip": networkFunction(lastOfNetwork),
		"num_ip": networkFunction(sizeOfNetwork), "contains_ip": callContainsIP, "ipset": callIPSet,

		"bcrypt_check": callBcryptCheck, "md5crypt_check": callMD5CryptCheck, "decrypt": callDecrypt,

		"semver": versionFunction(versionNormal), "semverrelease": callVersionRelease,
		"semvermajor": versionFunction(versionMajor), "semverminor": versionFunction(versionMinor),
		"semverpatch": versionFunction(versionPatch), "semverprerelease": callVersionPrerelease,
		"semvermetadata": callVersionMetadata, "semvercmp": callVersionCompare, "semvermatch": callVersionMatch,
		"semversort": callVersionSort, "semvervalidate": callVersionValidate,
		"validate": callValidate, "check": callCheck,
		"x509publickey": callPublicKey, "x509parsecert": callParseCertificate, "wgpublickey": callWireGuardPublic,
		"semverincmajor": versionFunction(versionIncMajor), "semverincminor": versionFunction(versionIncMinor),
		"semverincpatch": versionFunction(versionIncPatch),
	}
	for name, function := range generators {
		builtins[name] = function
	}
	for name, function := range mathFunctions {
		builtins[name] = mathFunction(name, function)
	}
}

// takes checks the number of arguments. A negative maximum means no maximum.
func (c *invocation) takes(least, most int) error {
	if len(c.args) >= least && (most < 0 || len(c.args) <= most) {
		return nil
	}
	return problem("function %s does not take %d arguments", c.name, len(c.args))
}

// text returns an argument that must be a string.
func (c *invocation) text(index int) (string, error) {
	text, ok := c.args[index].(string)
	if !ok {
		return "", c.wrong(index, "a string")
	}
	return text, c.env.run.meter.Step(int64(len(text)) / bytesPerStep)
}

// bytesPerStep is the number of bytes per step that a function processes one by one.
const bytesPerStep = 16

func (c *invocation) integer(index int) (int64, error) {
	n, ok := c.args[index].(int64)
	if !ok {
		return 0, c.wrong(index, "an integer")
	}
	return n, nil
}

func (c *invocation) list(index int) (*list, error) {
	l, ok := c.args[index].(*list)
	if !ok {
		return nil, c.wrong(index, "a list")
	}
	return l, c.env.run.meter.Step(int64(len(l.cells)) / itemsPerStep)
}

func (c *invocation) dict(index int) (*dict, error) {
	d, ok := c.args[index].(*dict)
	if !ok {
		return nil, c.wrong(index, "a map")
	}
	return d, nil
}

// wrong returns the error of an argument of the wrong type.
func (c *invocation) wrong(index int, wanted string) error {
	return problem("function %s: argument %d must be %s, not a value of type %s", c.name, index+1, wanted, typeOf(c.args[index]))
}

// build charges for the bytes that the function is about to build.
func (c *invocation) build(bytes int64) error { return c.env.run.meter.Build(bytes) }

// buildRepeated charges for count pieces of a size, whose product may overflow.
func (c *invocation) buildRepeated(count, size int) error {
	limit := c.env.run.meter.Limits().Memory
	if count > 0 && int64(size) > limit/int64(count) {
		return c.build(limit + 1)
	}
	return c.build(int64(count) * int64(size))
}

// texts converts strings to a list.
func (c *invocation) texts(texts []string) (value, error) {
	values := make([]value, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return newList(values), c.buildRepeated(len(texts), sizeOfCell)
}

// plain returns a plain copy of an argument.
func (c *invocation) plain(index int) (any, error) { return c.env.run.toPlain(c.args[index], false) }
