// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

// Prefix begins the names of all roles in a cluster.
const Prefix = "espalier-"

// Role is one that the project brings.
type Role struct {
	// Name is what markers call it. In a cluster its name begins with Prefix.
	Name string
	// File is the one in config/rbac that has it.
	File string
	// Namespaced says that it is a Role, for the namespace of the controllers. The others are ClusterRoles.
	Namespaced bool
	// Into are the roles of Kubernetes that it becomes a part of: view, edit or admin.
	Into []string
	// For says in one sentence whom it is for.
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

// roles are in the order in which files and the page have them. Those of controllers have the names that manager.Controllers gives them.
var roles = []Role{
	{Name: "contexts", File: ControllerFile, For: "The controller `contexts`, which keeps a Context named default in every namespace."},
	{Name: "installations", File: ControllerFile, For: "The controller `installations`, which runs the jobs of installations."},
	{Name: "executions", File: ControllerFile, For: "The controller `executions`, which runs the jobs of executions."},
	{Name: "deployitems", File: ControllerFile, For: "The controller `deployitems`, which ends deploy items whose time is up."},
	{Name: "targetsyncs", File: ControllerFile, For: "The controller `targetsyncs`, which makes Targets of what other clusters know."},
	{Name: "pipelines", File: ControllerFile, For: "The controller `pipelines`, with the server for signed approvals."},
	{Name: "deployer-manifest", File: ControllerFile, For: "The deployer of manifests. In target clusters it has the rights of Targets."},
	{Name: "deployer-helm", File: ControllerFile, For: "The deployer of charts. In target clusters it has the rights of Targets."},
	{Name: "deployer-container", File: ControllerFile, For: "The deployer of images, whose pods run in this cluster."},
	{Name: "deployer-mock", File: ControllerFile, For: "The deployer that deploys nothing, for tests."},
	{
		Name: "tokens", File: TokensFile,
		For: "Those of the above that use Targets with `selfConfig` or `oidcConfig`: `installations`, `pipelines`, `deployer-manifest` and " +
			"`deployer-helm`. Bind it by a RoleBinding in each namespace that has such Targets, and nowhere else: in all namespaces, it would " +
			"be the right to act as everybody.",
	},
	{
		Name: "tenancy", File: TenancyFile,
		For: "Processes with `--tenancy=strict`, beside the roles of the controllers that they run. It is bound to nobody unless that is " +
			"asked for: it is the right to act as every service account ([tenancy.md](../tenancy.md)).",
	},
	{
		Name: "tenant", File: TenancyFile,
		For: "Service accounts as which the work of a namespace is done, with `--tenancy=strict`. Bind it by a RoleBinding in the namespace of " +
			"the account. What is deployed to the cluster itself takes rights of its own.",
	},
	{
		Name: "tenant-containers", File: TenancyFile,
		For: "The same accounts, if the namespace has deploy items that run images.",
	},
	{
		Name: "definitions", File: DefinitionsFile,
		For: "Processes with `--install-crds`. It is bound to nobody: it is the right to change every kind of the cluster.",
	},
	{
		Name: "leader-election", File: LeaderElectionFile, Namespaced: true,
		For: "All processes with `--leader-elect`, in the namespace of the lease.",
	},
	{Name: "ui", File: UIFile, For: "The server of the web UI, `espalier ui serve`. What people see and do is bounded by their own rights."},
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
		For: "People who change installations and pipelines. Whoever may create these may in effect read the Secrets of the namespace " +
			"([security.md](../security.md)).",
	},
	{
		Name: "approver", File: UsersFile,
		For: "People who approve, reject, hold and release promotions with `espalier` or in the web UI. Kubernetes knows no right to set " +
			"annotations alone, so they can change Pipelines as well, unless the admission policy of approvals is installed " +
			"([approvals.md](../approvals.md)).",
	},
	{
		Name: "granter", File: UsersFile,
		For: "People who let other namespaces refer to objects of theirs. It is a part of no role of Kubernetes.",
	},
}

// Roles lists all roles.
func Roles() []Role { return append([]Role(nil), roles...) }
