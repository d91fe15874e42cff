// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants

const (
	pipelineWalk     = "internal/pipeline/survey.go"
	pipelineFollow   = "internal/pipeline/follow.go"
	pipelineLaunch   = "internal/pipeline/launch.go"
	pipelineRequests = "internal/pipeline/requests.go"
)

var pipelines = []Mutant{
	{
		ID: "PIP-01", Breaks: "a change of an application does not wake the pipeline", File: "internal/controller/pipelines/setup.go",
		Old: "		WatchesRawSource(leaves.Source()).\n",
		New: "",
	},
	{
		ID: "PIP-02", Breaks: "the connection to a cluster outlives the last reference", File: "internal/fleet/fleet.go",
		Old: "	delete(f.links, application.Cluster)\n	l.cancel()\n",
		New: "	delete(f.links, application.Cluster)\n",
	},
	{
		ID: "PIP-03", Breaks: "an event wakes only one of the pipelines of an application", File: "internal/fleet/index.go",
		Old: "		pipelines = append(pipelines, pipeline)\n",
		New: "		return append(pipelines, pipeline)\n",
	},
	{
		ID: "PIP-04", Breaks: "an application that was healthy at an older generation counts as healthy", File: "internal/fleet/health.go",
		Old: "	case lag != \"\":\n		return lag, false\n",
		New: "",
	},
	{
		ID: "PIP-04", Breaks: "the generation of a HelmChart counts as part of the revision", File: "internal/fleet/health.go",
		Old: "		version = builtByFlux.ReplaceAllString(version, \"\")\n",
		New: "",
	},
	{
		ID: "PIP-05", Breaks: "the Secret of a cluster is not found by the convention of Cluster API", File: "internal/target/gitops.go",
		Old: "spec.CAPIClusterRef.Name + capiSuffix",
		New: "spec.CAPIClusterRef.Name",
	},
	{
		ID: "PIP-06", Breaks: "a target that cannot be read does not stop the pipeline", File: pipelineWalk,
		Old: "	case !s.readable():\n		return verdictUnreadable\n",
		New: "",
	},
	{
		ID: "PIP-06", Breaks: "an application that was never deployed gets its first release unasked", File: pipelineWalk,
		Old: "	case s.neverDeployed() && !s.spec.FirstRelease:\n",
		New: "	case s.neverDeployed() && s.spec.FirstRelease:\n",
	},
	{
		ID: "PIP-08", Breaks: "a grant to one namespace permits references from all", File: "internal/pipeline/grants.go",
		Old: "from.Kind == pipelineKind && from.Namespace == r.From",
		New: "from.Kind == pipelineKind",
	},
	{
		ID: "PIP-08", Breaks: "an Installation in another namespace is changed without a grant", File: "internal/controller/pipelines/installation.go",
		Old: "p.Spec.AppRef, target); foreign {",
		New: "p.Spec.AppRef, target); foreign && false {",
	},
	{
		ID: "PIP-08", Breaks: "an application of any kind may be named", File: "internal/pipeline/grants.go",
		Old: "func KindRefused(app pipelines.AppReference, kinds []schema.GroupKind) Problem {\n",
		New: "func KindRefused(app pipelines.AppReference, kinds []schema.GroupKind) Problem {\n	kinds = append(kinds, schema.FromAPIVersionAndKind(app.APIVersion, app.Kind).GroupKind())\n",
	},
	{
		ID: "PIP-10", Breaks: "the first environment offers an unhealthy revision", File: "internal/pipeline/view.go",
		Old: "if !t.Readable() || !t.Healthy || t.Revision",
		New: "if !t.Readable() || !t.Healthy && v.index > 0 || t.Revision",
	},
	{
		ID: "PIP-11", Breaks: "a revision that is rolling out is promoted again", File: pipelineWalk,
		Old: "	case s.runs(s.revision):\n		return verdictRollingOut\n",
		New: "",
	},
	{
		ID: "PIP-11", Breaks: "a commit that is reported without its branch never arrives", File: "internal/pipeline/revision.go",
		Old: "	if !ok || left.algorithm != right.algorithm || left.sum != right.sum {\n",
		New: "	if !ok || left != right {\n",
	},
	{
		ID: "PIP-12", Breaks: "promotions of the old revision continue where the new one has not arrived", File: pipelineFollow,
		Old: "if f.pairwise() && (outstanding(f.Attempts, r) || !s.offered) {",
		New: "if f.pairwise() && outstanding(f.Attempts, r) || !s.offered {",
	},
	{
		ID: "PIP-13", Breaks: "mode Pairwise abandons a running promotion for a newer revision", File: pipelineFollow,
		Old: "if f.pairwise() && (outstanding(f.Attempts, r) || !s.offered) {",
		New: "if f.pairwise() && !s.offered {",
	},
	{
		ID: "PIP-14", Breaks: "the decision takes the time from the clock instead of the facts", File: "internal/pipeline/decide.go",
		Old: "	f := survey(o)\n",
		New: "	o.Now = time.Now()\n	f := survey(o)\n",
	},
	{
		ID: "PIP-20", Breaks: "an attempt is not recorded before it starts", File: "internal/pipeline/decide.go",
		Old: "return Decision{Do: do, SaveFirst: true,",
		New: "return Decision{Do: do,",
	},
	{
		ID: "PIP-21", Breaks: "a failed notification is not retried", File: pipelineLaunch,
		Old: "return len(closed.stops) == 0 && due(f, s, p)",
		New: "return len(closed.stops) == 0 && due(f, s, p) && p.Strategy != pipelines.StrategyNotification",
	},
	{
		ID: "PIP-22", Breaks: "a closed pull request counts as merged", File: "internal/pipeline/promotion.go",
		Old: "r.move(pipelines.PromotionAbandoned,",
		New: "r.move(pipelines.PromotionSucceeded,",
	},
	{
		ID: "PIP-22", Breaks: "a reopened pull request is not followed", File: "internal/controller/pipelines/news.go",
		Old: "return p.State == pipelines.PromotionAbandoned && p",
		New: "return p.State == pipelines.PromotionCreated && p",
	},
	{
		ID: "PIP-23", Breaks: "only the first of several marked scalars gets the revision", File: "internal/gitprovider/marker/rewrite.go",
		Old: "	if len(outdated) == 0 {\n		return result, nil\n	}\n",
		New: "	if len(outdated) == 0 {\n		return result, nil\n	}\n	outdated = outdated[:1]\n",
	},
	{
		ID: "PIP-24", Breaks: "the version is written but no job starts", File: "internal/controller/pipelines/installation.go",
		Old: "inst.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)",
		New: "delete(inst.Annotations, lsv1alpha1.OperationAnnotation)",
	},
	{
		ID: "PIP-25", Breaks: "only promotions by pull request wait for approval", File: pipelineFollow,
		Old: "block.Manual && !approved(p)",
		New: "block.Manual && !approved(p) && p.Strategy == pipelines.StrategyPullRequest",
	},
	{
		ID: "PIP-26", Breaks: "an approval for another revision counts", File: pipelineRequests,
		Old: "	case record.Revision != ask.Revision:\n",
		New: "	case record.Revision != ask.Revision && ask.Revision == \"\":\n",
	},
	{
		ID: "PIP-27", Breaks: "the controller ignores a request to reconcile", File: "internal/controller/pipelines/setup.go",
		Old: "func (c *Controller) LookNow(p types.NamespacedName) { c.wakes.wake(p) }",
		New: "func (c *Controller) LookNow(types.NamespacedName) {}",
	},
	{
		ID: "PIP-28", Breaks: "a suspended pipeline promotes", File: "internal/pipeline/gates.go",
		Old: "	if o.Spec.Suspend {\n",
		New: "	if o.Spec.Suspend && o.Deleted {\n",
	},
	{
		ID: "PIP-29", Breaks: "a pipeline is deleted before its pull requests are closed", File: "internal/pipeline/effects.go",
		Old: "	if next.facts.Deleted && next.facts.KeepPullRequests {\n",
		New: "	if next.facts.Deleted {\n",
	},
	{
		ID: "PIP-29", Breaks: "a deletion does not say what it waits for", File: "internal/pipeline/deletion.go",
		Old: "	waits := withdrawals(l, nil)\n",
		New: "	waits := withdrawals(l, nil)[:0]\n",
	},
	{
		ID: "PIP-29", Breaks: "nobody is told what stays open after the end of a namespace", File: "internal/controller/pipelines/act.go",
		Old: "err != nil || !ends {",
		New: "err != nil || ends {",
	},
	{
		ID: "PIP-29", Breaks: "a deletion without credentials is retried", File: "internal/pipeline/withdrawal.go",
		Old: "f.Deleted && last.Error.Reason == ReasonNoCredentials)",
		New: "f.Deleted && last.Error.Reason == \"\")",
	},
}
