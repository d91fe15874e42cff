// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const metadataHeading = `# Annotations, labels and finalizers

Every annotation, label and finalizer that Espalier reads or writes. You set those in the first table; leave the others to the controllers.
A name that ends in ` + "`/`" + ` is a prefix. This page is generated from the code: ` + "`go test ./internal/reference -update`" + `.

`

// metadataKey matches names like those of annotations, labels and finalizers.
var metadataKey = regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z]+/[A-Za-z0-9.-]*$`)

// apiVersion matches API versions.
var apiVersion = regexp.MustCompile(`/v[0-9]\w*$`)

// noKeys are constants that look like keys of metadata but are not, by folder and name.
var noKeys = []name{
	{"api/landscaper/v1alpha1", "InlineComponentDescriptorLabel"}, // of a component reference
	{"api/landscaper/v1alpha1", "TargetTypeKubernetesCluster"},
	{"internal/cli/bugreport", "helmRelease"}, // the type of a Secret
	{"internal/component", "InlineLabel"},
	{"internal/component", "TypeBlueprint"},
	{"internal/component", "TypeJSONSchema"},
	{"internal/dataflow", "dataPrefix"},
	{"internal/deployer/container", "Repository"},
	{"internal/deployer/container/inside", "annotations"},
	{"internal/oci", "mainAnnotation"},
	{"internal/targetsync", "tokenType"},
	{"internal/tenancy", "ServiceAccountKey"}, // of configurations in a Context
}

// metadataTexts describe keys that share a comment in the code, or whose comment speaks to programmers.
var metadataTexts = map[string]string{
	"landscaper.gardener.cloud/cache-helm-charts":                       "`true` lets the helm deployer reuse downloaded charts.",
	"landscaper.gardener.cloud/delete-ignore-successors":                "`true` deletes an installation although siblings import its exports.",
	"landscaper.gardener.cloud/delete-without-uninstall":                "`true` deletes a tree of objects and leaves what they deployed.",
	"landscaper.gardener.cloud/ignore":                                  "`true` freezes a completed object of the continuous flow.",
	"landscaper.gardener.cloud/reconcile-if-changed":                    "On a root installation: `true` starts a job whenever its spec changes.",
	"landscaper.gardener.cloud/rotate-token":                            "On a TargetSync: requests a new token at once.",
	"landscaper.gardener.cloud/touch":                                   "Any change wakes the controllers that watch the object.",
	"landscaper.gardener.cloud/deployer-target-name":                    "Repeats the name of a deploy item's target, so that deployers can filter by metadata alone.",
	"container.deployer.landscaper.gardener.cloud/force-cleanup":        "On a deploy item that is being deleted: skips the run of the image with the operation `DELETE`.",
	"pipelines.espalier.dev/keep-pull-requests":                         "`true` leaves pull requests open when the pipeline is deleted.",
	"pipelines.espalier.dev/promotion-key":                              "On an Installation: the key of the last promotion that changed it.",
	"container.deployer.landscaper.gardener.cloud/needs":                "On the Secret with the result of a pod: how many Secrets the state needs, and the run.",
	"container.deployer.landscaper.gardener.cloud/state":                "Where the state is: the prefix of the Secrets, their number and the checksum.",
	"container.deployer.landscaper.gardener.cloud/spec":                 "The hash of the deploy item when the pod was created.",
	"espalier.dev/deletion-marks":                                       "On a root installation: the annotations with which a command is about to delete it, and until when they apply. A later deletion ignores them.",
	"espalier.dev/deletion-asked":                                       "On an object in progress: the deletion of an object above it is requested. The value is the UID of the object.",
	"espalier.dev/flow-generation":                                      "The generation of a deploy item that a change to the job flow created, and that was deployed before.",
	"espalier.dev/granted-job":                                          "The ID of a job that was requested, and the UID of the object it was granted to.",
	"espalier.dev/heard-of":                                             "On a root installation: the last job reported by each predecessor.",
	"espalier.dev/interrupted-job":                                      "The job that an interrupt cut short, and the UID of the execution.",
	"espalier.dev/requested-at-taken":                                   "The value of `reconcile.fluxcd.io/requestedAt` that was turned into an operation last.",
	"espalier.dev/shards":                                               "On a Lease: which process holds which shard.",
	"espalier.dev/suspend":                                              "On a root installation: `true` keeps new runs of its tree from starting. The commands `suspend` and `resume` write it. See [jobs](../jobs.md#suspending).",
	"espalier.dev/suspend-reason":                                       "On a suspended root installation or Pipeline: who suspended it, and why.",
	"espalier.dev/targetsync":                                           "On what a TargetSync created: the name of the TargetSync.",
	"espalier.dev/token-rotated-at":                                     "On the Secret of the source: when its token was created.",
	"espalier.dev/token-rotation-seen-at":                               "On a TargetSync: when the controller saw the request for another token.",
	"espalier.dev/update":                                               "On what an installation in the continuous flow writes below it: the update that wrote it last, and the one before.",
	"espalier.dev/version":                                              "On a CRD: which version of Espalier wrote it.",
	"data.landscaper.gardener.cloud/sourceType":                         "Whether a DataObject or Target is an import or an export.",
	"helm.deployer.landscaper.gardener.cloud/item":                      "Namespace and name of the deploy item, if they are short enough; for people.",
	"helm.deployer.landscaper.gardener.cloud/owner":                     "A hash of namespace and name of the deploy item.",
	"helm.deployer.landscaper.gardener.cloud/deployitem":                "On the objects that the helm deployer applies without a release: the name of the deploy item.",
	"manifest.deployer.landscaper.gardener.cloud/deployitem":            "On the objects that the manifest deployer applies, or the helm deployer without a release: the name of the deploy item, for finding them.",
	"manifest.deployer.landscaper.gardener.cloud/owner":                 "On every object that a deployer applies: namespace and name of the deploy item, which decide whose it is.",
	"deployitem.container.deployer.landscaper.gardener.cloud/item":      "Namespace and name of the deploy item, which may be too long for a label.",
	"app.kubernetes.io/managed-by":                                      "Helm puts it on the objects of a release.",
	"meta.helm.sh/release-name":                                         "Helm puts it on the objects of a release.",
	"meta.helm.sh/release-namespace":                                    "Helm puts it on the objects of a release.",
	"helm.sh/hook":                                                      "In a chart: the object is a hook, as Helm defines it.",
	"helm.sh/resource-policy":                                           "In a chart: `keep` leaves the object behind when the release is uninstalled.",
	"kubectl.kubernetes.io/last-applied-configuration":                  "The configuration that kubectl last applied; it is not copied.",
	"container.deployer.landscaper.gardener.cloud/deployer-id":          "On all objects of a container deploy item: the deployer.",
	"container.deployer.landscaper.gardener.cloud/name":                 "On all objects of a container deploy item: the deployer's name.",
	"container.deployer.landscaper.gardener.cloud/type":                 "On all objects of a container deploy item: what it holds, such as `result`, `state` or `input`.",
	"container.deployer.landscaper.gardener.cloud/uuid":                 "On Secrets with state that earlier controllers wrote.",
	"container.deployer.landscaper.gardener.cloud/num":                  "On Secrets with state that earlier controllers wrote.",
	"deployitem.container.deployer.landscaper.gardener.cloud/name":      "On all objects of a container deploy item: the name of the deploy item.",
	"deployitem.container.deployer.landscaper.gardener.cloud/namespace": "On all objects of a container deploy item: the namespace of the deploy item.",
	"deployitem.container.deployer.landscaper.gardener.cloud/uid":       "On all objects of a container deploy item: the UID of the deploy item.",
	"espalier.dev/deployer":                                             "On all objects that the container deployer created.",
	"container.deployer.landscaper.gardener.cloud/origin":               "Why the pod runs: `job` or `continuous`.",
	"request.pipelines.espalier.dev/":                                   "On a Pipeline, followed by the environment: a decision on a promotion. The commands `approve`, `reject` and `retry` write it.",
	"hold.pipelines.espalier.dev/":                                      "On a Pipeline, followed by the environment: holds promotions to it. The commands `hold` and `hold --release` write it.",
	"requester.pipelines.espalier.dev/":                                 "On a Pipeline, followed by the environment: who made the request beside it.",
	"quota.espalier.dev/":                                               "On a Namespace, followed by `installations`, `deploy-items`, `rendered-bytes` or `concurrent-jobs`: a separate quota, or `unlimited`. See [quotas](../quotas.md).",
	"reconcile.fluxcd.io/requestedAt":                                   "Requests a reconcile, as tools of Flux do: any new value.",
	"landscaper.gardener.cloud/operation":                               "Requests one of the [operations](#operations). Controllers remove it once they act on it.",
	"landscaper.gardener.cloud/reconcile-reason":                        "Why a job was requested: `retry` when `spec.automaticReconcile` requested it.",
	"landscaper.gardener.cloud/targetsync":                              "On the Targets and Secrets that a TargetSync created; always `ok`.",
	"helm.deployer.landscaper.gardener.cloud/chart":                     "On the records of a release: its revision and the digest of its chart.",
	"landscaper.gardener.cloud/lasttargetsync":                          "When a TargetSync last requested the credentials for the Target of a shoot.",
	"container.deployer.landscaper.gardener.cloud/finalizer":            "Keeps a pod until the deployer has recorded its end.",
	"espalier.dev/verified-blueprint":                                   "Confirms that the inline blueprint of a nested installation comes from a blueprint with a verified signature.",
}

// setByUsers are the keys that users set.
var setByUsers = []string{
	"container.deployer.landscaper.gardener.cloud/force-cleanup",
	"espalier.dev/suspend",
	"espalier.dev/suspend-reason",
	"helm.sh/hook",
	"helm.sh/resource-policy",
	"hold.pipelines.espalier.dev/",
	"landscaper.gardener.cloud/cache-helm-charts",
	"landscaper.gardener.cloud/delete-ignore-successors",
	"landscaper.gardener.cloud/delete-without-uninstall",
	"landscaper.gardener.cloud/ignore",
	"landscaper.gardener.cloud/operation",
	"landscaper.gardener.cloud/reconcile-if-changed",
	"landscaper.gardener.cloud/rotate-token",
	"landscaper.gardener.cloud/touch",
	"pipelines.espalier.dev/keep-pull-requests",
	"quota.espalier.dev/",
	"reconcile.fluxcd.io/requestedAt",
	"request.pipelines.espalier.dev/",
	"requester.pipelines.espalier.dev/",
}

// keyOf is a key of metadata.
type keyOf struct{ sort, key, text string }

// metadataPage returns the page about annotations, labels and finalizers.
func (p *program) metadataPage() (string, error) {
	keys, err := p.metadataKeys()
	if err != nil {
		return "", err
	}
	mine := func(k keyOf) bool { return slices.Contains(setByUsers, k.key) }
	var page strings.Builder
	page.WriteString(metadataHeading)
	writeKeys(&page, "Set by you", keys, mine)
	page.WriteString("### Operations\n\n| Value | |\n|---|---|\n")
	for _, c := range p.constants() {
		if c.of == "Operation" && c.folder == "api/landscaper/v1alpha1" {
			fmt.Fprintf(&page, "| `%s` | %s |\n", c.value, cell(p.described(c)))
		}
	}
	page.WriteString("\n")
	for _, sort := range []string{"annotation", "label", "finalizer"} {
		title := strings.ToUpper(sort[:1]) + sort[1:] + "s set by controllers"
		writeKeys(&page, title, keys, func(k keyOf) bool { return !mine(k) && k.sort == sort })
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

func writeKeys(page *strings.Builder, title string, keys []keyOf, wanted func(keyOf) bool) {
	fmt.Fprintf(page, "## %s\n\n| Name | |\n|---|---|\n", title)
	for _, k := range keys {
		if wanted(k) {
			fmt.Fprintf(page, "| `%s` | %s |\n", k.key, cell(k.text))
		}
	}
	page.WriteString("\n")
}

// metadataKeys returns all keys, sorted by name. A possible key that is not known is an error.
func (p *program) metadataKeys() ([]keyOf, error) {
	found := map[string]keyOf{}
	var unnamed []constant
	for _, c := range p.constants() {
		sort := sortOf(c)
		named := strings.Contains(c.name, "Finalizer") && strings.Contains(c.value, ".") && !strings.Contains(c.value, " ")
		switch {
		case !metadataKey.MatchString(c.value) && !named, apiVersion.MatchString(c.value), c.of == "DeployItemType", slices.Contains(noKeys, name{c.folder, c.name}):
			continue
		case sort == "":
			unnamed = append(unnamed, c)
			continue
		case found[c.value].key != "":
			continue
		}
		text := cmp.Or(metadataTexts[c.value], p.described(c))
		if text == "" || metadataTexts[c.value] == "" && c.text == "" {
			return nil, fmt.Errorf("%s of %s: %w, or describe it in metadataTexts of internal/reference", c.name, c.folder, errUndocumented)
		}
		found[c.value] = keyOf{sort: sort, key: c.value, text: text}
	}
	keys := slices.SortedFunc(maps.Values(found), func(a, b keyOf) int { return cmp.Compare(a.key, b.key) })
	return keys, unknownKeys(found, unnamed)
}

// unknownKeys returns errors for constants that may be keys, and for keys that no constant has any more.
func unknownKeys(found map[string]keyOf, unnamed []constant) error {
	for _, c := range unnamed {
		if found[c.value].key == "" {
			return fmt.Errorf("is %s of %s an annotation, a label or a finalizer? Call it so, or add it to noKeys in internal/reference",
				c.name, c.folder)
		}
	}
	for _, key := range slices.Concat(setByUsers, slices.Sorted(maps.Keys(metadataTexts))) {
		if found[key].key == "" {
			return fmt.Errorf("no code knows %s any more: remove it from setByUsers and metadataTexts in internal/reference", key)
		}
	}
	return nil
}

func sortOf(c constant) string {
	switch lower := strings.ToLower(c.name); {
	case strings.Contains(lower, "finalizer"):
		return "finalizer"
	case strings.Contains(lower, "label"):
		return "label"
	case strings.Contains(lower, "annotation"), c.name == "lastApplied":
		return "annotation"
	}
	return ""
}
