// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// healthCase is the expected result of a case in the tables below.
type healthCase struct {
	name   string
	object string
	want   Health
	reason Reason
}

var since = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func objectOf(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	result := &unstructured.Unstructured{}
	if err := result.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return result
}

func check(t *testing.T, cases []healthCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			health, problem := HealthOf(objectOf(t, c.object))
			if difference := cmp.Diff(c.want, health); difference != "" {
				t.Errorf("health (-want +got):\n%s", difference)
			}
			if problem.Reason != c.reason {
				t.Errorf("problem = %+v, want the reason %q", problem, c.reason)
			}
			if (problem.Reason == "") != (problem.Message == "") {
				t.Errorf("problem = %+v: reason and message belong together", problem)
			}
		})
	}
}

const readyAt3 = `{type: Ready, status: "True", observedGeneration: 3, reason: Done, message: done, lastTransitionTime: "2026-03-01T12:00:00+02:00"}`

func kustomization(spec, status string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app, namespace: apps, generation: 3}\nspec: " + spec + "\nstatus: " + status
}

func TestPIP04_HealthByTheScheme(t *testing.T) {
	const revision = "lastAppliedRevision: main@sha1:b, lastAttemptedRevision: main@sha1:c"
	seen := Health{Revision: "main@sha1:b", AttemptedRevision: "main@sha1:c", Generation: 3}
	with := func(change func(*Health)) Health {
		health := seen
		change(&health)
		return health
	}
	unhealthy := func(message string) Health { return with(func(h *Health) { h.Message = message }) }
	check(t, []healthCase{
		{
			name:   "ready",
			object: kustomization(`{}`, `{observedGeneration: 3, `+revision+`, conditions: [{type: Reconciling, status: "True"}, `+readyAt3+`]}`),
			want:   with(func(h *Health) { h.Healthy, h.ReadySince = true, since }),
		},
		{
			name:   "ready, and only the condition tells the generation",
			object: kustomization(`{}`, `{`+revision+`, conditions: [`+readyAt3+`]}`),
			want:   with(func(h *Health) { h.Healthy, h.ReadySince = true, since }),
		},
		{
			name: "ready, and only the status tells the generation, with a time that cannot be read",
			object: kustomization(
				`{suspend: false}`,
				`{observedGeneration: 3, `+revision+`, conditions: [{type: Ready, status: "True", lastTransitionTime: yesterday}]}`,
			),
			want: with(func(h *Health) { h.Healthy = true }),
		},
		{
			name:   "status behind",
			object: kustomization(`{}`, `{observedGeneration: 2, `+revision+`, conditions: [`+readyAt3+`]}`),
			want:   unhealthy("its latest change is not processed yet: generation 3, status.observedGeneration 2"),
		},
		{
			name: "condition behind",
			object: kustomization(
				`{}`,
				`{observedGeneration: 3, `+revision+`, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`,
			),
			want: unhealthy("its latest change is not processed yet: generation 3, observed by condition Ready 2"),
		},
		{
			name:   "ahead is as wrong as behind: the status came from elsewhere",
			object: kustomization(`{}`, `{observedGeneration: 4, `+revision+`, conditions: [`+readyAt3+`]}`),
			want:   unhealthy("its latest change is not processed yet: generation 3, status.observedGeneration 4"),
		},
		{
			name:   "no generation anywhere",
			object: kustomization(`{}`, `{`+revision+`, conditions: [{type: Ready, status: "True"}]}`),
			want: unhealthy(
				"it does not report for which generation it is ready: neither status.observedGeneration nor that of the condition Ready is set",
			),
		},
		{
			name: "not ready",
			object: kustomization(
				`{}`,
				`{observedGeneration: 3, `+revision+`, conditions: [{type: Ready, status: "False", observedGeneration: 3, reason: BuildFailed, message: "no such file\n"}]}`,
			),
			want: badEnd(unhealthy("not ready (BuildFailed): no such file")),
		},
		{
			name: "unknown",
			object: kustomization(
				`{}`,
				`{observedGeneration: 3, `+revision+`, conditions: [{type: Ready, status: Unknown, observedGeneration: 3}]}`,
			),
			want: unhealthy("not ready"),
		},
		{
			name:   "suspended",
			object: kustomization(`{suspend: true}`, `{observedGeneration: 3, `+revision+`, conditions: [`+readyAt3+`]}`),
			want: with(func(h *Health) {
				h.Suspended, h.Message = true, "suspended: not updated until spec.suspend is removed"
			}),
		},
		{
			name: "deleting",
			object: strings.Replace(kustomization(`{}`, `{observedGeneration: 3, `+revision+`, conditions: [`+readyAt3+`]}`),
				"generation: 3}", `generation: 3, deletionTimestamp: "2026-03-01T12:00:00Z"}`, 1),
			want: with(func(h *Health) { h.Deleting, h.Message = true, "being deleted" }),
		},
		{
			name:   "new",
			object: kustomization(`{}`, `{}`),
			want:   Health{NeverDeployed: true, Generation: 3, Message: "no condition Ready yet"},
		},
		{
			name:   "ready at no revision",
			object: kustomization(`{}`, `{observedGeneration: 3, conditions: [`+readyAt3+`]}`),
			want:   Health{Generation: 3},
			reason: ReasonNoRevision,
		},
		{
			name:   "suspended at no revision is no problem of reading",
			object: kustomization(`{suspend: true}`, `{observedGeneration: 3, conditions: [`+readyAt3+`]}`),
			want: Health{
				Generation: 3,
				Suspended:  true,
				Message:    "suspended: not updated until spec.suspend is removed",
			},
		},
		{
			name: "everything has another form",
			object: kustomization(
				`[]`,
				`{observedGeneration: three, lastAppliedRevision: 5, lastAttemptedRevision: {}, conditions: [7, {type: Ready, status: true}]}`,
			),
			want: Health{
				NeverDeployed: true,
				Generation:    3,
				Message:       "it does not report for which generation it is ready: neither status.observedGeneration nor that of the condition Ready is set",
			},
		},
		{
			name:   "conditions are no list",
			object: kustomization(`{}`, `{conditions: {type: Ready}}`),
			want:   Health{NeverDeployed: true, Generation: 3, Message: "no condition Ready yet"},
		},
		{
			name:   "nothing at all",
			object: `{apiVersion: v1, kind: Thing}`,
			want:   Health{NeverDeployed: true, Message: "no condition Ready yet"},
		},
		{
			name: "Terraform",
			object: `
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {generation: 3}
status: {observedGeneration: 3, lastAppliedRevision: "main@sha1:b", lastAttemptedRevision: "main@sha1:c", lastPlannedRevision: "main@sha1:d", conditions: [` + readyAt3 + `]}`,
			want: with(func(h *Health) { h.Healthy, h.ReadySince = true, since }),
		},
		{
			name: "a kind that nobody has heard of, whose history and plus sign mean nothing",
			object: `
apiVersion: example.org/v7
kind: HelmRelease
metadata: {generation: 3}
status: {observedGeneration: 3, lastAppliedRevision: "1.0.0+0123456789ab", history: [{chartVersion: 9.9.9, status: deployed}], conditions: [` + readyAt3 + `]}`,
			want: Health{Healthy: true, Revision: "1.0.0+0123456789ab", Generation: 3, ReadySince: since},
		},
	})
}

func helmRelease(version, status string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/" + version + "\nkind: HelmRelease\nmetadata: {name: app, namespace: apps, generation: 3}\nstatus: " + status
}

// withChart returns a HelmRelease with fields of spec.chart.spec.
func withChart(fields, status string) string {
	return helmRelease("v2", status) + "\nspec: {chart: {spec: {" + fields + "}}}"
}

func TestPIP04_RevisionOfAHelmRelease(t *testing.T) {
	healthy := func(revision, attempted string) Health {
		return Health{Healthy: true, Revision: revision, AttemptedRevision: attempted, Generation: 3, ReadySince: since}
	}
	const good = `observedGeneration: 3, conditions: [` + readyAt3 + `]`
	check(t, []healthCase{
		{
			name: "v2",
			object: helmRelease(
				"v2",
				`{`+good+`, lastAttemptedRevision: 1.1.0, history: [{chartVersion: 1.1.0, status: deployed, version: 2}, {chartVersion: 1.0.0, status: superseded, version: 1}]}`,
			),
			want: healthy("1.1.0", "1.1.0"),
		},
		{
			name: "v2 from an OCI repository",
			object: helmRelease(
				"v2",
				`{`+good+`, lastAttemptedRevision: 1.1.0+0123456789ab, history: [{chartVersion: 1.1.0+0123456789ab, status: deployed}]}`,
			),
			want: healthy("1.1.0", "1.1.0"),
		},
		{
			name:   "v2 with build metadata that is no digest",
			object: helmRelease("v2", `{`+good+`, history: [{chartVersion: 1.1.0+build.5, status: deployed}]}`),
			want:   healthy("1.1.0+build.5", ""),
		},
		{
			name:   "v2 with twelve characters that are no digits",
			object: helmRelease("v2", `{`+good+`, history: [{chartVersion: 1.1.0+twelve-signs, status: deployed}]}`),
			want:   healthy("1.1.0+twelve-signs", ""),
		},
		{
			name:   "v2 with build metadata that is a number",
			object: helmRelease("v2", `{`+good+`, lastAttemptedRevision: 1.1.0+7, history: [{chartVersion: 1.1.0+7, status: deployed}]}`),
			want:   healthy("1.1.0+7", "1.1.0+7"),
		},
		{
			name: "v2 with no values files",
			object: withChart(`valuesFiles: []`,
				`{`+good+`, lastAttemptedRevision: 1.1.0+7, history: [{chartVersion: 1.1.0+0123456789ab.7, status: deployed}]}`),
			want: healthy("1.1.0+0123456789ab.7", "1.1.0+7"),
		},
		{
			name: "v2 with values files",
			object: withChart(`valuesFiles: [values-prod.yaml]`,
				`{`+good+`, lastAttemptedRevision: 1.1.0+12, history: [{chartVersion: 1.1.0+11, status: deployed}]}`),
			want: healthy("1.1.0", "1.1.0"),
		},
		{
			name: "v2 with values files, from each commit",
			object: withChart(`reconcileStrategy: Revision, valuesFiles: [values.yaml, values-prod.yaml]`,
				`{`+good+`, lastAttemptedRevision: 1.1.0+abcdefabcdef.5, history: [{chartVersion: 1.1.0-rc.1+0123456789ab.4, status: deployed}]}`),
			want: healthy("1.1.0-rc.1", "1.1.0"),
		},
		{
			name: "v2 that has got values files and still runs the chart without",
			object: withChart(`valuesFiles: [values-prod.yaml]`,
				`{`+good+`, lastAttemptedRevision: 1.1.0+0123456789ab, history: [{chartVersion: 1.1.0+build.5, status: deployed}]}`),
			want: healthy("1.1.0+build.5", "1.1.0"),
		},
		{
			name: "v2beta1 with the older field",
			object: strings.Replace(withChart(`valuesFile: values-prod.yaml`, `{`+good+`, lastAppliedRevision: 1.0.0+2}`),
				"/v2\n", "/v2beta1\n", 1),
			want: healthy("1.0.0", ""),
		},
		{
			name: "v2 after an upgrade that failed",
			object: helmRelease(
				"v2",
				`{observedGeneration: 3, lastAttemptedRevision: 1.3.0, conditions: [{type: Ready, status: "False", observedGeneration: 3, reason: UpgradeFailed, message: timeout}],
				history: [{chartVersion: 1.3.0, status: failed}, {chartVersion: 1.1.0, status: deployed}, {chartVersion: 1.0.0, status: superseded}]}`,
			),
			want: Health{
				Revision:          "1.1.0",
				AttemptedRevision: "1.3.0",
				Generation:        3,
				Failing:           true,
				Message:           "not ready (UpgradeFailed): timeout",
			},
		},
		{
			name: "v2 after a rollback: the older version was deployed last",
			object: helmRelease(
				"v2",
				`{observedGeneration: 3, lastAttemptedRevision: 1.3.0, conditions: [{type: Ready, status: "False", observedGeneration: 3}],
				history: [{chartVersion: 1.1.0, status: deployed, version: 3}, {chartVersion: 1.3.0, status: failed, version: 2}, {chartVersion: 1.1.0, status: superseded, version: 1}]}`,
			),
			want: Health{Revision: "1.1.0", AttemptedRevision: "1.3.0", Generation: 3, Failing: true, Message: "not ready"},
		},
		{
			name: "v2 whose chart cannot be had, or renders no longer",
			object: helmRelease(
				"v2",
				`{observedGeneration: 2, conditions: [{type: Ready, status: "False", observedGeneration: 3, reason: SourceNotReady, message: no such chart}], history: [{chartVersion: 1.0.0, status: deployed}]}`,
			),
			want: Health{Revision: "1.0.0", Generation: 3, Message: "not ready (SourceNotReady): no such chart"},
		},
		{
			name: "v2 that is begun with",
			object: helmRelease(
				"v2",
				`{observedGeneration: 2, conditions: [{type: Ready, status: Unknown, observedGeneration: 3, reason: X}], history: [{chartVersion: 1.0.0, status: deployed}]}`,
			),
			want: Health{
				Revision:   "1.0.0",
				Generation: 3,
				Message:    "its latest change is not processed yet: generation 3, status.observedGeneration 2",
			},
		},
		{
			name: "v2 whose only release failed",
			object: helmRelease(
				"v2",
				`{observedGeneration: 3, lastAppliedRevision: 0.9.0, conditions: [{type: Ready, status: "False", observedGeneration: 3}], history: [{chartVersion: 1.0.0, status: failed}, broken]}`,
			),
			want: Health{Generation: 3, Failing: true, Message: "not ready"},
		},
		{
			name:   "v2 that is ready without a release",
			object: helmRelease("v2", `{`+good+`}`),
			want:   Health{Generation: 3},
			reason: ReasonNoRevision,
		},
		{
			name:   "v2 with a deployed entry that has no version",
			object: helmRelease("v2", `{`+good+`, history: [{status: deployed}]}`),
			want:   Health{Generation: 3},
			reason: ReasonNoRevision,
		},
		{
			name: "v2beta2 with a history",
			object: helmRelease(
				"v2beta2",
				`{`+good+`, lastAppliedRevision: 1.0.0, lastAttemptedRevision: 1.1.0, history: [{chartVersion: 1.1.0, status: deployed}]}`,
			),
			want: healthy("1.1.0", "1.1.0"),
		},
		{
			name:   "v2beta2 without a history",
			object: helmRelease("v2beta2", `{`+good+`, lastAppliedRevision: 1.0.0+0123456789ab}`),
			want:   healthy("1.0.0", ""),
		},
		{
			name:   "v2beta1",
			object: helmRelease("v2beta1", `{`+good+`, lastAppliedRevision: 1.0.0, lastAttemptedRevision: 1.0.0}`),
			want:   healthy("1.0.0", "1.0.0"),
		},
		{
			name:   "a history of another form",
			object: helmRelease("v2", `{`+good+`, lastAppliedRevision: 1.0.0, history: {status: deployed}}`),
			want:   healthy("1.0.0", ""),
		},
	})
}

// badEnd returns the same health after a failed attempt.
func badEnd(h Health) Health {
	h.Failing = true
	return h
}

// never returns the same health before the first deployment.
func never(h Health) Health {
	h.NeverDeployed = true
	return h
}

func installation(spec, status string) string {
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata: {name: app, namespace: apps, generation: 3}\nspec: " + spec + "\nstatus: " + status
}

func TestPIP04_HealthOfAnInstallation(t *testing.T) {
	const component = `{componentDescriptor: {ref: {componentName: example.org/app, version: 1.2.0}}}`
	seen := func(message string) Health {
		return Health{Revision: "1.2.0", AttemptedRevision: "1.2.0", Generation: 3, Message: message}
	}
	check(t, []healthCase{
		{
			name: "succeeded",
			object: installation(
				component,
				`{observedGeneration: 3, phase: Succeeded, jobID: a, jobIDFinished: a, phaseTransitionTime: "2026-03-01T10:00:00Z"}`,
			),
			want: Health{Healthy: true, Revision: "1.2.0", AttemptedRevision: "1.2.0", Generation: 3, ReadySince: since},
		},
		{
			name: "suspended",
			object: strings.Replace(installation(component, `{observedGeneration: 3, phase: Succeeded, jobID: a, jobIDFinished: a}`),
				"generation: 3}", `generation: 3, annotations: {espalier.dev/suspend: "true"}}`, 1),
			want: Health{
				Suspended: true, Revision: "1.2.0", AttemptedRevision: "1.2.0", Generation: 3,
				Message: "suspended: not updated until it is resumed",
			},
		},
		{
			name: "nested, with the annotation that suspends a root",
			object: strings.Replace(installation(component, `{observedGeneration: 3, phase: Succeeded, jobID: a, jobIDFinished: a}`),
				"generation: 3}", `generation: 3, labels: {landscaper.gardener.cloud/encompassed-by: root}, annotations: {espalier.dev/suspend: "true"}}`, 1),
			want: Health{Healthy: true, Revision: "1.2.0", AttemptedRevision: "1.2.0", Generation: 3},
		},
		{
			name:   "succeeded with a component of its own",
			object: installation(`{componentDescriptor: {inline: {component: {version: 0.1.0}}}}`, `{observedGeneration: 3, phase: Succeeded}`),
			want:   Health{Healthy: true, Revision: "0.1.0", AttemptedRevision: "0.1.0", Generation: 3},
		},
		{
			name:   "succeeded without a component",
			object: installation(`{}`, `{observedGeneration: 3, phase: Succeeded}`),
			want:   Health{Generation: 3},
			reason: ReasonNoRevision,
		},
		{
			name:   "new",
			object: installation(component, `{}`),
			want:   never(seen("not processed yet")),
		},
		{
			name:   "changed since",
			object: installation(component, `{observedGeneration: 2, phase: Succeeded, jobID: a, jobIDFinished: a}`),
			want:   seen("its latest change is not processed yet: generation 3, status.observedGeneration 2"),
		},
		{
			name:   "running again",
			object: installation(component, `{observedGeneration: 3, phase: Succeeded, jobID: b, jobIDFinished: a}`),
			want:   seen("job running, in phase Succeeded"),
		},
		{
			name: "failed",
			object: installation(
				component,
				`{observedGeneration: 3, phase: Failed, jobID: a, jobIDFinished: a, lastError: {reason: Broken, message: it broke}}`,
			),
			want: badEnd(seen("in phase Failed (Broken): it broke")),
		},
		{
			name:   "a ready condition does not count",
			object: installation(component, `{observedGeneration: 3, phase: Progressing, conditions: [`+readyAt3+`]}`),
			want:   never(seen("in phase Progressing")),
		},
		{
			name:   "its first job",
			object: installation(component, `{observedGeneration: 3, phase: Progressing, jobID: a}`),
			want:   never(seen("job running, in phase Progressing")),
		},
		{
			name:   "at work again in the continuous flow",
			object: installation(`{flow: Continuous, componentDescriptor: {ref: {version: 1.2.0}}}`, `{observedGeneration: 3, phase: Progressing}`),
			want:   seen("in phase Progressing"),
		},
		{
			name: "an Installation of somebody else follows the scheme",
			object: strings.Replace(
				installation(component, `{observedGeneration: 3, phase: Failed, lastAppliedRevision: x, conditions: [`+readyAt3+`]}`),
				"landscaper.gardener.cloud/v1alpha1",
				"example.org/v1",
				1,
			),
			want: Health{Healthy: true, Revision: "x", Generation: 3, ReadySince: since},
		},
	})
}

func TestPIP04_DigestsOfVersions(t *testing.T) {
	for version, want := range map[string]string{
		"":                        "",
		"1.2.3":                   "1.2.3",
		"1.2.3+0123456789ab":      "1.2.3",
		"1.2.3-rc.1+abcdefabcdef": "1.2.3-rc.1",
		"1.2.3+0123456789a":       "1.2.3+0123456789a",
		"1.2.3+0123456789abc":     "1.2.3+0123456789abc",
		"1.2.3+0123456789AB":      "1.2.3+0123456789AB",
		"1.2.3+g":                 "1.2.3+g",
		"1.2.3+":                  "1.2.3+",
	} {
		if got := withoutDigest(version); got != want {
			t.Errorf("withoutDigest(%q) = %q, want %q", version, got, want)
		}
	}
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	long := "x" + strings.Repeat("ü", maxMessage)
	short := shorten(long)
	if len(short) > maxMessage+4 || !utf8.ValidString(short) || !strings.HasPrefix(long, strings.TrimSuffix(short, " ...")) {
		t.Errorf("%d bytes: %q", len(short), short)
	}
}
