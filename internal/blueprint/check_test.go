// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"slices"
	"strings"
	"testing"
)

// checked is a directory and the one expected finding.
type checked struct {
	files Files
	want  string
}

// executorOf is a blueprint with one deploy execution.
func executorOf(fields string, more ...string) Files {
	return files("deployExecutions: [{name: d, "+fields+"}]", more...)
}

// importOf is a blueprint with one import.
func importOf(fields string, more ...string) Files {
	return files("imports: [{name: a, "+fields+"}]", more...)
}

// subsOf is a blueprint with nested installations.
func subsOf(list string) Files { return files("subinstallations: [" + list + "]") }

var wrong = map[string]checked{
	"a field that does not exist": {files("deployExecution: []"), `unknown field "deployExecution": correct its name or remove it`},
	"one of an import": {
		importOf("schema: {}, optional: true"),
		`unknown field "imports[0].optional": correct its name or remove it`,
	},
	"one of an execution": {
		executorOf("type: Spiff, template: {}, stubs: []"),
		`unknown field "deployExecutions[0].stubs": correct its name or remove it`,
	},
	"one of a subinstallation's file": {
		files("subinstallations: [{file: s.yaml}]", "s.yaml", "name: s\nblueprint: {ref: x}\nimport: {}"),
		`s.yaml: unknown field "import": correct its name or remove it`,
	},
	"an import from nowhere": {
		subsOf("{name: s, blueprint: {ref: x}, imports: {data: [{name: a, dataRef: wrong}]}}"),
		"subinstallations[s].imports.data[0].dataRef: nothing provides",
	},
	"installations in a circle": {
		subsOf(
			"{name: s, blueprint: {ref: x}, imports: {data: [{name: a, dataRef: p}]}, exports: {data: [{name: a, dataRef: q}]}}, {name: t, blueprint: {ref: x}, imports: {data: [{name: a, dataRef: q}]}, exports: {data: [{name: a, dataRef: p}]}}",
		),
		"installations wait for each other: ",
	},
	"no blueprint":           {Files{"readme.md": nil}, `there is no file "blueprint.yaml" in the blueprint; it has readme.md`},
	"an empty directory":     {Files{}, `there is no file "blueprint.yaml" in the blueprint; it has no files`},
	"broken YAML":            {files("imports: ["), "blueprint.yaml: not valid YAML: "},
	"a wrong type":           {files("imports: 5"), "blueprint.yaml: imports: is of type number, must be of type array"},
	"a list for a blueprint": {files("[]"), "blueprint.yaml: unexpected content: "},
	"another kind":           {files("kind: Installation"), `kind: is "Installation", must be Blueprint`},
	"an import without name": {files("imports: [{schema: {}}]"), "imports[0].name: is required"},
	"two imports of a name": {
		files("imports: [{name: a, schema: {}}, {name: a, schema: {}}]"),
		`imports[1].name: "a" is already used by imports[0]`,
	},
	"an import of no type": {
		files("imports: [{name: a}]"),
		"imports[0]: needs a type, or a schema (then it is data) or a targetType (then it is a target)",
	},
	"an import of an unknown type": {
		importOf("type: datum, schema: {}"),
		`imports[0].type: is "datum", must be data, target, targetList or targetMap`,
	},
	"data with a target type": {
		importOf("type: data, schema: {}, targetType: t"),
		"imports[0].targetType: is for targets, not for data",
	},
	"a target with a schema": {
		importOf("type: target, targetType: t, schema: {}"),
		"imports[0].schema: is for data, not for targets",
	},
	"a default for a target": {
		importOf("targetType: t, required: false, default: {value: 1}"),
		"imports[0].default: only data can have a default value",
	},
	"conditional on a required import": {
		importOf("schema: {}, imports: [{name: b, schema: {}}]"),
		"imports[0].imports: only an import of type data that is not required can have conditional imports",
	},
	"conditional on a target": {
		importOf("targetType: t, required: false, imports: [{name: b, schema: {}}]"),
		"imports[0].imports: only an import of type data",
	},
	"a conditional import": {
		importOf("schema: {}, required: false, imports: [{name: b}]"),
		"imports[0].imports[0]: needs a type",
	},
	"an export of a list": {
		files("exports: [{name: a, type: targetList, targetType: t}]"),
		`exports[0].type: is "targetList", must be data or target`,
	},
	"an export without name":       {files("exports: [{schema: {}}]"), "exports[0].name: is required"},
	"an export of no type":         {files("exports: [{name: a}]"), "exports[0]: needs a type"},
	"an executor of no type":       {executorOf("template: x"), `deployExecutions[0].type: is "", must be GoTemplate or Spiff`},
	"an executor without template": {executorOf("type: Spiff"), "deployExecutions[0]: needs exactly one of file and template"},
	"an executor with two templates": {
		executorOf("type: Spiff, file: f, template: x", "f", ""),
		"deployExecutions[0]: needs exactly one of file and template",
	},
	"a template that is not there": {
		executorOf("type: Spiff, file: f"),
		`deployExecutions[0]: there is no file "f" in the blueprint; it has blueprint.yaml`,
	},
	"a Go template that is no text": {
		executorOf("type: GoTemplate, template: {a: b}"),
		"deployExecutions[0].template: a GoTemplate must be a text; write it behind a |",
	},
	"a Go template that does not parse": {
		executorOf("type: GoTemplate, file: f", "f", "{{ if }}"),
		`deployExecutions[0]: GoTemplate "d" (file f, line 1): `,
	},
	"a spiff template that is no YAML": {executorOf("type: Spiff, file: f", "f", "a: ["), `deployExecutions[0]: Spiff "d" (file f): `},
	"a spiff expression":               {executorOf("type: Spiff, template: {a: (( 1 + ))}"), `deployExecutions[0]: Spiff "d" (at a)`},
	"an import execution":              {files("importExecutions: [{name: i, type: GoTemplate, template: '{{'}]"), "importExecutions[0]: "},
	"a subinstallation execution": {
		files("subinstallationExecutions: [{name: s, type: GoTemplate, template: '{{'}]"),
		"subinstallationExecutions[0]: ",
	},
	"an export execution":   {files("exportExecutions: [{name: e, type: GoTemplate, template: '{{'}]"), "exportExecutions[0]: "},
	"a schema that is none": {importOf("schema: {type: strin}"), "imports[0].schema: "},
	"a schema of a conditional import": {
		importOf("schema: {}, required: false, imports: [{name: b, schema: {type: 1}}]"),
		"imports[0].imports[0].schema: ",
	},
	"a schema of an export":          {files("exports: [{name: a, schema: {type: strin}}]"), "exports[0].schema: "},
	"a local type that is no schema": {files("localTypes: {port: {type: strin}}"), "localTypes.port: "},
	"a local type that is not there": {importOf("schema: {$ref: 'local://port'}"), "imports[0].schema: "},
	"a file that is not there":       {importOf("schema: {$ref: 'blueprint://port.json'}"), "imports[0].schema: "},
	"a draft that does not exist": {
		files("jsonSchemaVersion: 'https://example.com/draft'\nimports: [{name: a, schema: {}}]"),
		"imports[0].schema: ",
	},
	"an empty subinstallation": {
		files("subinstallations: [{}]"),
		"subinstallations[0]: needs a file, or the fields of an InstallationTemplate",
	},
	"a subinstallation without name": {files("subinstallations: [{blueprint: {ref: x}}]"), "subinstallations[0].name: is required"},
	"two subinstallations of a name": {
		files("subinstallations: [{name: a}, {name: a}]"),
		`subinstallations[1].name: "a" is already used by subinstallations[0]`,
	},
	"a file of a subinstallation": {
		files("subinstallations: [{file: s.yaml}]"),
		`subinstallations[0].file: there is no file "s.yaml" in the blueprint; it has blueprint.yaml`,
	},
	"a broken file": {
		files("subinstallations: [{file: s.yaml}]", "s.yaml", "name: ["),
		"subinstallations[0].file: s.yaml: not valid YAML: ",
	},
	"a file of another type": {
		files("subinstallations: [{file: s.yaml}]", "s.yaml", "name: {}"),
		"subinstallations[0].file: s.yaml: name: is of type object, must be of type string",
	},
	"a nested directory that is none": {
		files("subinstallations: [{name: s, blueprint: {filesystem: []}}]"),
		"subinstallations[0].blueprint.filesystem: the filesystem must be an object",
	},
	"a nested blueprint": {
		files("subinstallations: [{name: s, blueprint: {filesystem: {blueprint.yaml: 'kind: Other'}}}]"),
		`subinstallations[0].blueprint.filesystem: kind: is "Other"`,
	},
}

var odd = map[string]checked{
	"a field that has no effect": {files("title: x"), `unknown field "title": it has no effect`},
	"the draft's former field":   {files("jsonSchema: x"), `unknown field "jsonSchema": it has no effect`},
	"one of an import":           {importOf("schema: {}, description: x"), `unknown field "imports[0].description": it has no effect`},
	"what anchors refer to":      {files("x-anchors: {a: 1}"), `unknown field "x-anchors": it has no effect`},
	"one of a subinstallation's file": {
		files("subinstallations: [{file: s.yaml}]", "s.yaml", "name: s\nblueprint: {ref: x}\nmetadata: {}"),
		`s.yaml: unknown field "metadata": it has no effect`,
	},
	"an import that nothing uses": {
		files(
			"imports: [{name: a, schema: {}}, {name: b, targetType: t}]\ndeployExecutions: [{name: d, type: GoTemplate, template: '{{ .imports.a }}'}]",
		),
		`imports[1]: nothing in the blueprint uses the import "b"`,
	},
	"an import that only a page mentions": {
		files(
			"imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: d, type: GoTemplate, file: f}]",
			"f", "deployItems: []", "README.md", "The imports (a, or all imports) are {{ toYaml .imports }}",
		),
		`imports[0]: nothing in the blueprint uses the import "a"`,
	},
	"an import beside prose about imports": {
		files(
			"imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: d, type: GoTemplate, template: '# the imports , all of them (imports)'}]",
		),
		`imports[0]: nothing in the blueprint uses the import "a"`,
	},
	"an import beside prose in Spiff": {
		files(
			"imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: d, type: Spiff, template: {x: 'of the imports , none', y: (( 1 + 1 ))}}]",
		),
		`imports[0]: nothing in the blueprint uses the import "a"`,
	},
	"a function that is rejected": {
		files("deployExecutions: [{name: d, type: Spiff, template: {x: [{y: '(( true ? [1] :map[[1]|x|->env(x)] ))'}]}}]"),
		"deployExecutions[0]: function env is not available in blueprints because a blueprint must not depend on the environment of the process that evaluates it; import the value instead",
	},
	"a function that Go rejects": {
		files("deployExecutions: [{name: d, type: GoTemplate, template: '{{ if false }}{{ now }}{{ end }}'}]"),
		"deployExecutions[0]: function now is not available in blueprints because its result depends on the clock or the time zone, and rendering must be deterministic; import the time instead",
	},
	"a function that has no state": {
		files("importExecutions: [{name: d, type: Spiff, template: {x: (( &state(bcrypt(\"x\")) ))}}]"),
		"importExecutions[0]: function bcrypt is not available here because nothing is stored here: only deploy, subinstallation and export executions have a state; import the value instead",
	},
	"a division of an import": {
		files("imports: [{name: a, schema: {type: integer}}]\ndeployExecutions: [{name: d, type: Spiff, template: {x: (( imports.a / 2 ))}}]"),
		"deployExecutions[0]: at x: (( imports.a / 2 )): in Landscaper imported numbers are floats, and the division keeps the fraction there; " +
			"integer(...) around the number means the same in both",
	},
	"a comparison of an import": {
		files("imports: [{name: a, schema: {type: number}}]\ndeployExecutions: [{name: d, type: Spiff, template: {x: (( imports.a > 2 ))}}]"),
		"deployExecutions[0]: at x: (( imports.a > 2 )): in Landscaper imported numbers are floats, and the comparison is always false there; ",
	},
	"a comparison with a field of an import": {
		files("localTypes: {size: {type: [integer, 'null']}}\n" +
			"imports: [{name: a, schema: {type: object, properties: {b: {items: {$ref: 'local://size'}}}}}]\n" +
			"deployExecutions: [{name: d, type: Spiff, template: {x: '(( 2 != imports.a.b[0] ))'}}]"),
		"deployExecutions[0]: at x: (( 2 != imports.a.b[0] )): in Landscaper imported numbers are floats, and the comparison is always true there; ",
	},
	"a division of a conditional import": {
		files("imports: [{name: a, schema: {}, required: false, imports: [{name: b, schema: {type: integer}}]}]\n" +
			"deployExecutions: [{name: d, type: Spiff, template: {x: (( (imports.b + 1) / 2 ))}}]"),
		"deployExecutions[0]: at x: (( (imports.b + 1) / 2 )): ",
	},
	"a division of an import in a data mapping": {
		files("imports: [{name: a, schema: {type: integer}}]\nsubinstallations: [{name: s, blueprint: {ref: x}, " +
			"imports: {data: [{name: b, dataRef: a}]}, importDataMappings: {c: {d: (( b / 2 ))}}}]"),
		"subinstallations[0].importDataMappings.c: at d: (( b / 2 )): in Landscaper imported numbers are floats, and the division",
	},
	"a division of an export in a data mapping": {
		files("subinstallations: [{name: s, blueprint: {filesystem: {blueprint.yaml: 'exports: [{name: a, schema: {type: integer}}]'}}, " +
			"exportDataMappings: {c: (( a / 2 ))}}]"),
		"subinstallations[0].exportDataMappings.c: (( a / 2 )): in Landscaper imported numbers are floats, and the division",
	},
	"a division of one of all exports in a data mapping": {
		files("subinstallations: [{name: s, blueprint: {filesystem: {blueprint.yaml: 'exports: [{name: a, schema: {type: integer}}]'}}, " +
			"exportDataMappings: {c: (( exports.a / 2 ))}}]"),
		"subinstallations[0].exportDataMappings.c: (( exports.a / 2 )): ",
	},
	"an option of the other language": {
		executorOf("type: Spiff, template: {}, allowMissingKeys: true"),
		"deployExecutions[0].allowMissingKeys: is only for GoTemplate",
	},
	"data without schema":   {importOf("type: data"), "imports[0].schema: is missing: any value is accepted"},
	"a target without type": {importOf("type: target"), "imports[0].targetType: is missing: targets of any type are accepted"},
	"a default that is never taken": {
		importOf("schema: {}, default: {value: 1}"),
		"imports[0].default: a required import never takes its default value: set required to false",
	},
	"an executor without name": {
		files("deployExecutions: [{type: Spiff, template: {}}]"),
		"deployExecutions[0].name: is missing: the state of a template is kept under its name",
	},
	"two executors of a name": {
		files("exportExecutions: [{name: a, type: Spiff, template: {}}, {name: a, type: Spiff, template: {}}]"),
		"exportExecutions[1].name: is the same as that of exportExecutions[0]: they share their state",
	},
	"a nested blueprint": {
		files("subinstallations: [{name: s, blueprint: {filesystem: {blueprint.yaml: 'title: x'}}}]"),
		`subinstallations[0].blueprint.filesystem: unknown field "title"`,
	},
}

// Each finding is the only one: an error causes no further ones, and a warning is not an error.
func TestCheckFinds(t *testing.T) {
	only := func(findings []string, want string) bool {
		return len(findings) == 1 && strings.HasPrefix(findings[0], want)
	}
	for name, c := range wrong {
		t.Run("error/"+name, func(t *testing.T) {
			if found := Check(c.files); !only(found.Errors, c.want) || len(found.Warnings) > 0 {
				t.Errorf("errors %q, warnings %q, want only %q", found.Errors, found.Warnings, c.want)
			}
		})
	}
	for name, c := range odd {
		t.Run("warning/"+name, func(t *testing.T) {
			if found := Check(c.files); !only(found.Warnings, c.want) || len(found.Errors) > 0 {
				t.Errorf("errors %q, warnings %q, want only %q", found.Errors, found.Warnings, c.want)
			}
		})
	}
}

func TestCheckFindsAll(t *testing.T) {
	found := Check(
		files(
			"imports: [{schema: {type: strin}}, {name: b}]\ndeployExecutions: [{name: a, type: Spiff}, {name: b, type: GoTemplate, template: '{{'}]\nsubinstallations: [{file: x}, {file: y.yaml}]",
		),
	)
	for i, want := range []string{"subinstallations[0].file", "subinstallations[1].file", "imports[0].name", "imports[1]", "deployExecutions[0]", "deployExecutions[1]", "imports[0].schema"} {
		if len(found.Errors) != 7 || !strings.HasPrefix(found.Errors[i], want) {
			t.Errorf("errors %q, want one about %s at %d", found.Errors, want, i)
		}
	}
}

func TestCheckIsSilent(t *testing.T) {
	for name, f := range map[string]Files{
		"nothing":                               files(""),
		"a schema in a component":               importOf("schema: {$ref: 'cd://resources/port'}"),
		"all kinds of references":               files("localTypes: {port: {type: integer}}\nimports: [{name: a, schema: {$ref: 'local://port'}}, {name: b, schema: {$ref: 'blueprint://d/port.json'}}]", "d/port.json", `{"type": "integer"}`),
		"a default that is taken":               importOf("schema: {}, required: false, default: {value: 1}"),
		"imports that are used":                 files("imports: [{name: a, schema: {}}, {name: b, schema: {}}, {name: c, targetType: t}, {name: d, schema: {}}]\nsubinstallations: [{name: s, blueprint: {ref: x}, imports: {data: [{name: x, dataRef: a}]}}]\ndeployExecutions: [{name: t, type: GoTemplate, file: f}, {name: u, type: Spiff, template: {x: (( imports.b )), y: [{target: {import: c}}]}}]", "f", "{{ index .imports \"d\" }}"),
		"all imports are used":                  files("imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: t, type: GoTemplate, file: f}]", "f", "{{ toYaml .imports | nindent 2 }}"),
		"all imports in Spiff":                  files("imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: t, type: Spiff, template: {x: '(( sum[imports|{}|s,k,v|->s] ))', y: '(( f((1)) imports ))'}}]"),
		"computed names of imports":             files("imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: t, type: Spiff, template: {n: b, x: '(( imports.[n] ))'}}]"),
		"a template that a template reads":      files("imports: [{name: a, schema: {}}]\ndeployExecutions: [{name: t, type: Spiff, template: {x: '(( read(\"f\", \"template\") ))'}}]", "f", "x: (( imports.a ))"),
		"an import of a nested installation":    files("imports: [{name: a, schema: {}}]\nsubinstallations: [{file: s.yaml}]", "s.yaml", "name: s\nblueprint: {ref: x}\nimportDataMappings: {b: (( a ))}"),
		"an import that only exports use":       files("imports: [{name: a, schema: {}}]\nexports: [{name: x, schema: {}}]\nexportExecutions: [{name: t, type: GoTemplate, template: 'exports: {x: {{ .imports.a }}}'}]"),
		"a reference to what an execution adds": files("subinstallations: [{name: s, blueprint: {ref: x}, imports: {data: [{name: a, dataRef: b}]}}]\nsubinstallationExecutions: [{name: t, type: Spiff, template: {}}]"),
		"data mappings": files("imports: [{name: a, schema: {type: integer}}, {name: t, schema: {type: string}}]\nsubinstallations: [{name: s, blueprint: {ref: x}, " +
			"imports: {data: [{name: b, dataRef: a}, {name: a, dataRef: t}]}, importDataMappings: {b: (( integer(b) / 2 )), c: (( a / 2 )), d: (( imports.a / 2 )), e: (( 1 + ))}, exportDataMappings: {c: (( c / 2 ))}}]"),
		"a nested reference": files("subinstallations: [{name: s, blueprint: {ref: cd://resources/b}}]"),
	} {
		if found := Check(f); len(found.Errors)+len(found.Warnings) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Check and Parse accept the same blueprints, as far as Parse checks.
func TestCheckAgreesWithParse(t *testing.T) {
	for name, c := range wrong {
		_, err := Parse(c.files)
		schemas := strings.Contains(c.want, "schema: ") && !strings.Contains(c.want, "is for data") || strings.HasPrefix(c.want, "localTypes")
		nested := strings.Contains(c.want, "blueprint.filesystem") || strings.HasPrefix(c.want, "subinstallations[s].imports") ||
			strings.HasPrefix(c.want, "installations wait")
		if (err == nil) != (schemas || nested) {
			t.Errorf("%s: Parse says %v", name, err)
		}
	}
	for name, c := range odd {
		b, err := Parse(c.files)
		if err != nil ||
			name != "a nested blueprint" && !strings.HasPrefix(name, "a division of ") && !strings.HasPrefix(name, "a comparison ") && !strings.HasPrefix(name, "a function ") &&
				!slices.Equal(b.Warnings, Check(c.files).Warnings) {
			t.Errorf("%s: Parse says %v, %v", name, b, err)
		}
	}
}
