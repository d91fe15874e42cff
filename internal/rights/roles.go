// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

// Prefix starts the names of all roles in a cluster.
const Prefix = "espalier-"

// Role is a role of the project.
type Role struct {
	// Name is the name in markers. In a cluster it has the prefix Prefix.
	Name string
	// File is the file in config/rbac with the role.
	File string
	// Namespaced reports whether it is a Role, for the namespace of the controllers. The others are ClusterRoles.
	Namespaced bool
	// Into are the roles of Kubernetes that aggregate it: view, edit or admin.
	Into []string
	// For says in one sentence who needs it.
	For string
}

// Files of config/rbac.
const (
	ControllerFile     = "controller.yaml"
	LeaderElectionFile = "leader-election.yaml"
	TokensFile         = "tokens.yaml"
	TenancyFile        = "tenancy.yaml"
	DefinitionsFile    = "definitions.yaml"
	UIFile             = "ui.yaml"
	UsersFile          = "users.yaml"
)

// roles are in the order of the files and the page. Those of controllers have the names in manager.Controllers.
var roles = []Role{
	{Name: "contexts", File: ControllerFile, For: "The controller `contexts`, which keeps a Context named default in every namespace."},
	{Name: "installations", File: ControllerFile, For: "The controller `installations`, which runs the jobs of installations."},
	{Name: "executions", File: ControllerFile, For: "The controller `executions`, which runs the jobs of executions."},
	{Name: "deployitems", File: ControllerFile, For: "The controller `deployitems`, which ends deploy items that time out."},
	{Name: "targetsyncs", File: ControllerFile, For: "The controller `targetsyncs`, which creates Targets from kubeconfigs and shoots in other clusters."},
	{Name: "pipelines", File: ControllerFile, For: "The controller `pipelines`, with the server for signed approvals."},
	{Name: "deployer-manifest", File: ControllerFile, For: "The deployer of manifests. In target clusters it uses the credentials of Targets."},
	{Name: "deployer-helm", File: ControllerFile, For: "The deployer of charts. In target clusters it uses the credentials of Targets."},
	{Name: "deployer-container", File: ControllerFile, For: "The deployer of images, whose pods run in this cluster."},
	{Name: "deployer-mock", File: ControllerFile, For: "The deployer that deploys nothing, for tests."},
	{
		Name: "tokens", File: TokensFile,
		For: "Those of the above that use Targets with `selfConfig` or `oidcConfig`: `installations`, `pipelines`, `deployer-manifest` and " +
			"`deployer-helm`. Bind it with a RoleBinding in each namespace that has such Targets, and nowhere else: in all namespaces, it " +
			"would permit acting as every service account.",
	},
	{
		Name: "tenancy", File: TenancyFile,
		For: "Processes with `--tenancy=strict`, beside the roles of the controllers that they run. Not bound by default: it permits " +
			"acting as every service account ([tenancy.md](../tenancy.md)).",
	},
	{
		Name: "tenant", File: TenancyFile,
		For: "Service accounts that do the work of a namespace, with `--tenancy=strict`. Bind it with a RoleBinding in the namespace of " +
			"the service account. What is deployed to the cluster itself needs separate rights.",
	},
	{
		Name: "tenant-containers", File: TenancyFile,
		For: "The same service accounts, if the namespace has deploy items that run images.",
	},
	{
		Name: "definitions", File: DefinitionsFile,
		For: "Processes with `--install-crds`. Not bound by default: it permits changing every CRD.",
	},
	{
		Name: "leader-election", File: LeaderElectionFile, Namespaced: true,
		For: "All processes with `--leader-elect`, in the namespace of the lease.",
	},
	{Name: "ui", File: UIFile, For: "The server of the web UI, `espalier ui serve`. People see and do what their own rights permit."},
	{
		Name: "viewer", File: UsersFile, Into: []string{"view"},
		For: "People who look at installations and pipelines. It shows no kind that holds values of Secrets.",
	},
	{
		Name: "value-viewer", File: UsersFile, Into: []string{"edit"},
		For: "People who also look at what is below installations. These kinds hold rendered values and kubeconfigs, so it is as good as the " +
			"right to read Secrets, and not a part of `view`.",
	},
	{
		Name: "editor", File: UsersFile, Into: []string{"edit"},
		For: "People who change installations and pipelines. Anyone who may create these may in effect read the Secrets of the namespace " +
			"([security.md](../security.md)).",
	},
	{
		Name: "approver", File: UsersFile,
		For: "People who approve, reject, hold and release promotions with `espalier` or in the web UI. Kubernetes has no right to set " +
			"annotations alone, so they can change Pipelines as well, where the admission policy of approvals is turned off " +
			"([approvals.md](../approvals.md)).",
	},
	{
		Name: "granter", File: UsersFile,
		For: "People who let other namespaces refer to objects of theirs. It is a part of no role of Kubernetes.",
	},
}

// Roles lists all roles.
func Roles() []Role { return append([]Role(nil), roles...) }
