// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package view builds the documents of the web UI: one per page, from the objects that its reader may see. It is pure, and its types are
// the contract with the pages, which are written in TypeScript: internal/web/typescript generates theirs from these.
//
// Documents describe objects like `espalier why`, `tree` and `get`, with the same functions. Texts from the cluster are passed on
// unchanged; the pages show them as text.
package view

import "time"

// Tone is how a state is shown: by a shape, a word and a colour.
type Tone string

// The tones, from the design's table of phase icons.
const (
	NotYet      Tone = "not-yet"
	Works       Tone = "works"
	Done        Tone = "done"
	Failed      Tone = "failed"
	Going       Tone = "going"
	GoingFailed Tone = "going-failed"
	Waits       Tone = "waits"
	Person      Tone = "person"
	Stopped     Tone = "stopped"
	Unknown     Tone = "unknown"
)

// Ref names an object. Kind is Installation, Execution, DeployItem, Pipeline, Target, DataObject, Secret or ConfigMap.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Status is the state of something. Word is that of the API, such as Progressing or WaitingForApproval. Reference is where an error is
// explained: the address of the documentation if it is published, or else a path in it; empty if there is no error.
type Status struct {
	Tone      Tone       `json:"tone"`
	Word      string     `json:"word"`
	Since     *time.Time `json:"since,omitempty"`
	Message   string     `json:"message,omitempty"`
	Reference string     `json:"reference,omitempty"`
}

// Progress counts deploy items or targets.
type Progress struct {
	All     int `json:"all"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
	Waiting int `json:"waiting"`
}

// Action is an action on the object of a page. Command does the same in a terminal. Denied says why the reader may not do it, Unavailable
// why it makes no sense now.
type Action struct {
	// ID is reconcile, interrupt, abort, force, delete, approve, reject, promote, retry, hold or release.
	ID          string `json:"id"`
	Label       string `json:"label"`
	Command     string `json:"command"`
	Explanation string `json:"explanation,omitempty"`
	// Confirm is the question that the reader must answer first. It names what results.
	Confirm     string `json:"confirm,omitempty"`
	Danger      bool   `json:"danger,omitempty"`
	Denied      string `json:"denied,omitempty"`
	Unavailable string `json:"unavailable,omitempty"`
}

// Overview is the first page. Needs are failures, then decisions, then what is missing; among these, the widest effect comes first.
type Overview struct {
	Now           time.Time         `json:"now"`
	Verdict       string            `json:"verdict"`
	Needs         []Need            `json:"needs"`
	Soon          []string          `json:"soon"`
	Pipelines     []PipelineRow     `json:"pipelines"`
	Installations []InstallationRow `json:"installations"`
	// Hidden names what the reader may not list, each with the missing right.
	Hidden []string `json:"hidden"`
}

// Need is something that waits for a person: a failure, an approval, or something that is missing.
type Need struct {
	ID      string     `json:"id"`
	Tone    Tone       `json:"tone"`
	Subject Ref        `json:"subject"`
	Cause   Ref        `json:"cause"`
	Title   string     `json:"title"`
	Reason  string     `json:"reason"`
	Message string     `json:"message"`
	HoldsUp int        `json:"holdsUp"`
	Since   *time.Time `json:"since,omitempty"`
	Command string     `json:"command"`
	// Button is the label of its button: "See why" or "Review changes".
	Button string `json:"button"`
}

// InstallationRow is a root installation.
type InstallationRow struct {
	Ref      Ref      `json:"ref"`
	Status   Status   `json:"status"`
	Progress Progress `json:"progress"`
	// Flow is Job or Continuous.
	Flow      string `json:"flow"`
	Component string `json:"component,omitempty"`
	Version   string `json:"version,omitempty"`
	WaitsFor  string `json:"waitsFor,omitempty"`
}

// PipelineRow is a pipeline on the overview, with its environments in order. They have no actions and no approval here: these are on the
// page of the pipeline.
type PipelineRow struct {
	Ref          Ref           `json:"ref"`
	Status       Status        `json:"status"`
	Latest       string        `json:"latest,omitempty"`
	Moving       bool          `json:"moving"`
	Environments []Environment `json:"environments"`
}

// OverviewChange is the difference to an earlier overview: new and changed rows as a whole, and the names of removed ones.
type OverviewChange struct {
	Now               time.Time         `json:"now"`
	Verdict           string            `json:"verdict"`
	Needs             []Need            `json:"needs"`
	Soon              []string          `json:"soon"`
	Hidden            []string          `json:"hidden"`
	Pipelines         []PipelineRow     `json:"pipelines"`
	Installations     []InstallationRow `json:"installations"`
	GonePipelines     []Ref             `json:"gonePipelines"`
	GoneInstallations []Ref             `json:"goneInstallations"`
}

// Why is the answer to "why is this waiting?", from the object of the page to the cause.
type Why struct {
	Tone     Tone   `json:"tone"`
	Answer   string `json:"answer"`
	Quote    string `json:"quote,omitempty"`
	QuotedBy string `json:"quotedBy,omitempty"`
	// Reference is where the documentation explains the cause, as in a Status.
	Reference string   `json:"reference,omitempty"`
	Chain     []Link   `json:"chain"`
	Next      string   `json:"next,omitempty"`
	Commands  []string `json:"commands"`
	HoldsUp   []Ref    `json:"holdsUp"`
	Others    []string `json:"others"`
}

// Link is one step of a chain.
type Link struct {
	Ref    Ref    `json:"ref"`
	Status Status `json:"status"`
}

// Installation is the page of an installation and of everything below it.
type Installation struct {
	Now      time.Time `json:"now"`
	Ref      Ref       `json:"ref"`
	Exists   bool      `json:"exists"`
	Parent   *Ref      `json:"parent,omitempty"`
	Verdict  string    `json:"verdict"`
	Status   Status    `json:"status"`
	Progress Progress  `json:"progress"`
	Flow     string    `json:"flow"`
	// Component, Version and Blueprint are empty if there is none.
	Component string `json:"component,omitempty"`
	Version   string `json:"version,omitempty"`
	Blueprint string `json:"blueprint,omitempty"`
	Why       *Why   `json:"why,omitempty"`
	Graph     Graph  `json:"graph"`
	Rows      []Row  `json:"rows"`
	Job       *Job   `json:"job,omitempty"`
	// Past lists the finished jobs, newest first.
	Past    []PastJob `json:"past"`
	Actions []Action  `json:"actions"`
	Events  []Event   `json:"events"`
	Hidden  []string  `json:"hidden"`
}

// Row is an object of the tree, in the order of the tree: the table, the waterfall and the drawer have one per object.
type Row struct {
	ID     string `json:"id"`
	Ref    Ref    `json:"ref"`
	Depth  int    `json:"depth"`
	Parent string `json:"parent,omitempty"`
	// Title is the name of the object in its parent.
	Title    string `json:"title"`
	Status   Status `json:"status"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Type is the type of a deploy item, Target the name of its target.
	Type   string `json:"type,omitempty"`
	Target string `json:"target,omitempty"`
	// Outside is true if the blueprint of an installation is outside of the cluster: types and defaults of values must be requested.
	Outside   bool       `json:"outside,omitempty"`
	Spans     []Span     `json:"spans"`
	WaitedFor []string   `json:"waitedFor"`
	Imports   []Value    `json:"imports"`
	Exports   []Value    `json:"exports"`
	Objects   []Deployed `json:"objects"`
}

// Span is a part of a job: waits, init or works. A span without an end is not finished.
type Span struct {
	What  string     `json:"what"`
	Tone  Tone       `json:"tone"`
	Start time.Time  `json:"start"`
	End   *time.Time `json:"end,omitempty"`
}

// Job is the run that the waterfall shows.
type Job struct {
	ID    string     `json:"id,omitempty"`
	Start *time.Time `json:"start,omitempty"`
	End   *time.Time `json:"end,omitempty"`
}

// PastJob is a finished job.
type PastJob struct {
	ID     string     `json:"id"`
	Status Status     `json:"status"`
	Start  *time.Time `json:"start,omitempty"`
	End    *time.Time `json:"end,omitempty"`
}

// Value is an import or an export. Its content is in an object that the page requests on demand, with the rights of the reader.
type Value struct {
	Name string `json:"name"`
	// Kind is data, target or targetList; Type is that of the schema, if known.
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"`
	// State is there, default, missing or not-written.
	State string `json:"state"`
	// Source is the object with the value, Giver the row or installation that writes it.
	Source *Ref   `json:"source,omitempty"`
	Giver  *Ref   `json:"giver,omitempty"`
	Key    string `json:"key,omitempty"`
	// Default is the default of the blueprint, as JSON that may be truncated, of an import that gets no other value.
	Default string `json:"default,omitempty"`
	// Reference is the name by which others import an export, Takers are some installations that do, and OtherTakers counts the rest.
	Reference   string `json:"reference,omitempty"`
	Takers      []Ref  `json:"takers,omitempty"`
	OtherTakers int    `json:"otherTakers,omitempty"`
	// Secret is true if the value is shown only on request.
	Secret bool `json:"secret,omitempty"`
}

// Deployed is an object in a target, as the status of a deploy item records it.
type Deployed struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Live is what a deploy item has in its target cluster now. Message says why not everything could be read.
type Live struct {
	Objects []LiveObject `json:"objects"`
	Message string       `json:"message,omitempty"`
}

// LiveObject is an object in a target cluster as it is now, with the pods below a workload.
type LiveObject struct {
	APIVersion string       `json:"apiVersion,omitempty"`
	Kind       string       `json:"kind"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name"`
	Status     Status       `json:"status"`
	Below      []LiveObject `json:"below"`
}

// LiveYAML is an object in a target cluster as it is now, and as its deploy item defines it, if that is known. Secrets are masked.
type LiveYAML struct {
	Live     string `json:"live"`
	Rendered string `json:"rendered,omitempty"`
	// Cut is true if one of them is truncated.
	Cut bool `json:"cut,omitempty"`
}

// Declared is what a blueprint outside of the cluster declares about the imports and exports of an installation. Message says why that is
// unknown.
type Declared struct {
	Imports []NamedType `json:"imports"`
	Exports []NamedType `json:"exports"`
	// Defaults are imports that the installation does not provide and that have a default value.
	Defaults []Value `json:"defaults"`
	Message  string  `json:"message,omitempty"`
}

// NamedType is the type of an import or export in words; it is empty if the blueprint only says that it is data or a target.
type NamedType struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// Logs are the log lines of deployers about a deploy item, oldest first. Message says where to look if there are none.
type Logs struct {
	Lines   []LogLine `json:"lines"`
	Message string    `json:"message,omitempty"`
}

// LogLine is a line in the log of a deployer.
type LogLine struct {
	Time *time.Time `json:"time,omitempty"`
	// Level is info, error or debug.
	Level string `json:"level"`
	Text  string `json:"text"`
}

// Diff is what the next job would change in the objects that the blueprints of an installation and of those below it create. Message says
// why that is unknown, or that nothing would change. Notes say what cannot be known before the job, and what is left out.
type Diff struct {
	Message string       `json:"message,omitempty"`
	Notes   []string     `json:"notes"`
	Objects []ObjectDiff `json:"objects"`
}

// ObjectDiff is an object that a job would create, update or delete.
type ObjectDiff struct {
	Ref   Ref    `json:"ref"`
	Title string `json:"title"`
	// Within is the path to the nested installation, and to the deploy item with a chart, that creates the object, such as shop/database.
	Within string `json:"within,omitempty"`
	// Change is create, update or delete.
	Change string     `json:"change"`
	Lines  []DiffLine `json:"lines"`
}

// DiffLine is a line of YAML. Op is + for an added line, - for a removed one, and a space for an unchanged one.
type DiffLine struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

// Graph is a drawing. Sizes are in pixels at scale 1; the server computes the layout.
type Graph struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Nodes  []Node `json:"nodes"`
	Edges  []Edge `json:"edges"`
}

// Node is a box of a graph. ID is that of its row; a ghost is a source that does not exist.
type Node struct {
	ID     string `json:"id"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	Status Status `json:"status"`
	Ghost  bool   `json:"ghost,omitempty"`
	// Group is true if it contains other nodes.
	Group bool `json:"group,omitempty"`
	// Kind is import, target, installation, template or export in the graph of a blueprint, where a target is an import, and empty elsewhere.
	Kind string `json:"kind,omitempty"`
}

// Edge is a value that flows from one node to another, or a dependency.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	// State is there, missing or cut, and empty while the value does not exist yet.
	State string `json:"state"`
	// Path is the d attribute of an SVG path of cubic curves. LabelX and LabelY are the bottom centre of its label.
	Path   string `json:"path"`
	LabelX int    `json:"labelX"`
	LabelY int    `json:"labelY"`
	// Target is true if it is a target, not a value.
	Target bool `json:"target,omitempty"`
}

// Event is an Event about an object. Repeated ones are merged.
type Event struct {
	Time    time.Time `json:"time"`
	Tone    Tone      `json:"tone"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	By      string    `json:"by,omitempty"`
	About   Ref       `json:"about"`
	Count   int       `json:"count"`
}

// Pipeline is the page of a pipeline.
type Pipeline struct {
	Now          time.Time     `json:"now"`
	Ref          Ref           `json:"ref"`
	Exists       bool          `json:"exists"`
	Verdict      string        `json:"verdict"`
	Status       Status        `json:"status"`
	Suspended    bool          `json:"suspended,omitempty"`
	Environments []Environment `json:"environments"`
	Lanes        []Lane        `json:"lanes"`
	Actions      []Action      `json:"actions"`
	Events       []Event       `json:"events"`
	// LeadTime is the median time from the first environment to the last, in seconds; 0 if no revision has reached the last one.
	LeadTime int      `json:"leadTime"`
	Hidden   []string `json:"hidden"`
}

// Environment is a card of the board, with the gates before it.
type Environment struct {
	Name     string       `json:"name"`
	Status   Status       `json:"status"`
	Revision string       `json:"revision,omitempty"`
	Since    *time.Time   `json:"since,omitempty"`
	Progress Progress     `json:"progress"`
	Targets  []TargetCell `json:"targets"`
	Gates    []Gate       `json:"gates"`
	// Coming is the revision that the gates hold, if there is one, and Request its pull request.
	Coming   string   `json:"coming,omitempty"`
	Request  *Request `json:"request,omitempty"`
	Approval *Consent `json:"approval,omitempty"`
	Actions  []Action `json:"actions"`
}

// TargetCell is one target of an environment.
type TargetCell struct {
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Revision  string `json:"revision,omitempty"`
	Ready     bool   `json:"ready"`
	Status    Status `json:"status"`
}

// Gate is a condition that a promotion must meet: approval, soak, window, hold, strategy or health. Reference is like that of a Status.
type Gate struct {
	Kind   string     `json:"kind"`
	Label  string     `json:"label"`
	State  string     `json:"state"` // not-reached, counting, passed, yours, others, failed or held
	Until  *time.Time `json:"until,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Detail string     `json:"detail,omitempty"`

	Reference string `json:"reference,omitempty"`
}

// Consent is an approval that a promotion waits for, with its effect.
type Consent struct {
	Revision string       `json:"revision"`
	From     string       `json:"from,omitempty"`
	Since    *time.Time   `json:"since,omitempty"`
	Facts    []Fact       `json:"facts"`
	Changes  []FieldShift `json:"changes"`
}

// Fact is a label with its text.
type Fact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// FieldShift is a field that a promotion writes.
type FieldShift struct {
	Object string `json:"object"`
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
}

// Lane is a revision on its way through the environments.
type Lane struct {
	Revision string `json:"revision"`
	Marks    []Mark `json:"marks"`
	// Ended is the outcome: arrived, moving, superseded, failed or rejected.
	Ended string `json:"ended"`
}

// Mark is where a revision is or was.
type Mark struct {
	Environment string     `json:"environment"`
	Time        *time.Time `json:"time,omitempty"`
	Tone        Tone       `json:"tone"`
	By          string     `json:"by,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	// Request is the pull request that promoted it, or should have.
	Request *Request `json:"request,omitempty"`
}

// Request is a pull request as the status of the pipeline records it.
type Request struct {
	// URL is empty if a browser cannot open it, or would run it.
	URL    string `json:"url,omitempty"`
	Number int64  `json:"number,omitempty"`
	// State is open, merged or closed, and empty while it is unknown.
	State string `json:"state,omitempty"`
	// By is the user who merged or closed it, and Time when.
	By   string     `json:"by,omitempty"`
	Time *time.Time `json:"time,omitempty"`
	// Checks are set while it is open, if it has any and they are known.
	Checks *RequestChecks `json:"checks,omitempty"`
}

// RequestChecks are the checks of the head commit of a pull request.
type RequestChecks struct {
	// State is running, passed or failed.
	State string `json:"state"`
	// URL is empty if the Git server has no page about them, or if a browser cannot open it.
	URL     string `json:"url,omitempty"`
	Total   int    `json:"total"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Running int    `json:"running"`
	// FailedNames are the names of some failed ones.
	FailedNames []string `json:"failedNames"`
}

// Targets is the page of targets and clusters.
type Targets struct {
	Now     time.Time   `json:"now"`
	Verdict string      `json:"verdict"`
	Rows    []TargetRow `json:"rows"`
	Hidden  []string    `json:"hidden"`
}

// TargetRow is a Target or a GitopsCluster. Check is the result of the last check with the rights of the reader, if there was one.
type TargetRow struct {
	Ref    Ref          `json:"ref"`
	Type   string       `json:"type"`
	Status Status       `json:"status"`
	Runs   []Ref        `json:"runs"`
	Check  *TargetCheck `json:"check,omitempty"`
}

// TargetCheck is the result of a check of a cluster. Expires is when the first of its certificates and tokens expires, Expiring which one.
type TargetCheck struct {
	At           time.Time  `json:"at"`
	Reachable    bool       `json:"reachable"`
	Error        string     `json:"error,omitempty"`
	Version      string     `json:"version,omitempty"`
	Expires      *time.Time `json:"expires,omitempty"`
	Expiring     string     `json:"expiring,omitempty"`
	Milliseconds int        `json:"milliseconds"`
}
